# SPDX-License-Identifier: Apache-2.0
"""Who serves: the seat is the one writer entry of `<service>.server`, its lock is the server's life.

The server announces itself there with a Hello that names its random instance and the incarnation of its
entry. A client believes a Hello only while the entry still has that incarnation and its lock is held.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from slipring.errors import Busy, PeerGone, SlipringError, TopicExists, TopicGone, TopicNotFound

from . import decoding, encoding, names
from .messages import Hello

if TYPE_CHECKING:
    from ..bus import Bus
    from ..publisher import Publisher
    from .ground import Ground, Looker

VERSION = 1
# defect second_server_accepted: _SETTINGS: dict[str, Any] = {
#     "capacity": 4096, "slots": 16, "delivery": "lossy", "writers": "many"}
_SETTINGS: dict[str, Any] = {"capacity": 4096, "slots": 16, "delivery": "lossy", "writers": "one"}
_LOOK_EVERY_S = 0.005


class Seat:
    """The server's side: taken when made, Busy while another server lives."""

    def __init__(self, bus: Bus, ground: Ground, service: str, mode: int | None) -> None:
        self._bus, self._ground, self._service = bus, ground, service
        self.instance = int.from_bytes(ground.random(8), "little") or 1
        self._publisher = self._take(mode)

    def _take(self, mode: int | None) -> Publisher:
        topic = names.seat_topic(self._service)
        clock = self._ground.clock
        deadline = clock.monotonic() + self._ground.busy_s
        while True:
            try:
                return self._bus.publisher(topic, mode=mode, **_SETTINGS)
            except Busy:
                if clock.monotonic() >= deadline:
                    hint = "close it, or choose another service name"
                    raise Busy(
                        f"service '{self._service}' has a living server: {hint}", argument="service"
                    ) from None
                clock.sleep(_LOOK_EVERY_S)
            except TopicExists as error:
                hint = f"remove it: slipring rm {topic}"
                raise TopicExists(
                    f"topic '{topic}' was not made by a server: {hint}",
                    argument="service", found=error.found, asked=error.asked,
                ) from None  # fmt: skip

    def check(self) -> None:
        """TopicGone when its files were deleted: clients find no server then, and another may sit down."""
        try:
            self._publisher._subscribers()
        except TopicGone:
            topic, place = names.seat_topic(self._service), self._bus.path
            raise TopicGone(
                f"service '{self._service}' ended: its topic '{topic}' in {place} was deleted under the "
                "server; start it again",
                argument="service",
            ) from None

    def announce(self, codec: str) -> None:
        looker = self._ground.looker(names.seat_topic(self._service))
        try:
            incarnation = looker.owner(0)
        finally:
            looker.close()
        self._publisher.send(encoding.hello(Hello(VERSION, self.instance, incarnation, codec)))

    def leave(self) -> None:
        """Remove the topic while the seat is still ours, then give it up."""
        # defect closed_server_stays_present: return
        with contextlib.suppress(SlipringError):  # else the next server takes it as it is
            self._bus.remove(names.seat_topic(self._service), missing_ok=True)
        self._publisher.close()


class View:
    """The client's side: which server lives."""

    def __init__(self, bus: Bus, ground: Ground, service: str) -> None:
        self._bus, self._ground, self._service = bus, ground, service
        self._looker: Looker | None = None
        self.hello: Hello | None = None

    def lives(self) -> bool:
        """Whether the server of `hello` does."""
        looker, hello = self._looker, self.hello
        if looker is None or hello is None:
            return False
        try:
            # defect dead_server_looks_alive: return True
            return looker.owner(0) == hello.incarnation
        except SlipringError:
            return False  # closed by another thread, or the topic is gone

    def find(self) -> Hello:
        """The living server's Hello; PeerGone when there is none."""
        self.close()
        try:
            self._looker = self._ground.looker(names.seat_topic(self._service))
            incarnation = self._looker.owner(0)
            hello = self._newest_hello()
        except (TopicNotFound, TopicGone):
            hello, incarnation = None, 0
        if hello is None or not incarnation or hello.incarnation != incarnation:
            raise PeerGone(f"service '{self._service}' has no living server", argument="service")
        if hello.version != VERSION:
            raise PeerGone(
                f"the server of '{self._service}' speaks version {hello.version}, not {VERSION}",
                argument="service",
            )
        self.hello = hello
        return hello

    def _newest_hello(self) -> Hello | None:
        with self._bus.subscriber(names.seat_topic(self._service), start="last") as announcements:
            message = announcements.recv(0)
        if message is None:
            return None
        try:
            _, payload = decoding.decode(bytes(message.body))
        except decoding.Malformed:
            return None
        return payload if isinstance(payload, Hello) else None

    def close(self) -> None:
        looker, self._looker, self.hello = self._looker, None, None
        if looker is not None:
            looker.close()
