# SPDX-License-Identifier: Apache-2.0
"""The presence of a server: it owns the one writer entry of `<service>.server`, whose lock is the server's life.

The server announces itself there with a Hello that has its random instance and the incarnation of its entry. Clients
(client/connection.py) read both.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from slipring.errors import Busy, SlipringError, TopicExists, TopicGone

from .. import envelope, protocol
from ..protocol import Hello

if TYPE_CHECKING:
    from ...publisher import Publisher
    from ..runtime import Runtime, TopicBus

# defect second_server_accepted: _SETTINGS: dict[str, Any] = {
#     "capacity": 4096, "slots": 16, "delivery": "lossy", "writers": "many"}
_SETTINGS: dict[str, Any] = {"capacity": 4096, "slots": 16, "delivery": "lossy", "writers": "one"}
_RETRY_EVERY_S = 0.005


class Presence:
    """The constructor takes the service; Busy while another server lives."""

    def __init__(self, bus: TopicBus, runtime: Runtime, service: str, mode: int | None) -> None:
        self._bus, self._runtime, self._service = bus, runtime, service
        self.instance = int.from_bytes(runtime.random(8), "little") or 1
        self._publisher = self._take(mode)

    def _take(self, mode: int | None) -> Publisher:
        topic = protocol.presence_topic(self._service)
        clock = self._runtime.clock
        deadline = clock.monotonic() + self._runtime.busy_s
        while True:
            try:
                return self._bus.publisher(topic, mode=mode, **_SETTINGS)
            except Busy:
                if clock.monotonic() >= deadline:
                    hint = "close it, or choose another service name"
                    raise Busy(
                        f"service '{self._service}' has a living server: {hint}", argument="service"
                    ) from None
                clock.sleep(_RETRY_EVERY_S)
            except TopicExists as error:
                hint = f"remove it: slipring rm {topic}"
                raise TopicExists(
                    f"topic '{topic}' was not made by a server: {hint}",
                    argument="service", found=error.found, asked=error.asked,
                ) from None  # fmt: skip

    def check(self) -> None:
        """TopicGone when its files were deleted: clients find no server then, and another may start."""
        try:
            self._publisher._subscribers()
        except TopicGone:
            topic, directory = protocol.presence_topic(self._service), self._bus.path
            raise TopicGone(
                f"service '{self._service}' ended: its topic '{topic}' in {directory} was deleted under the "
                "server; start it again",
                argument="service",
            ) from None

    def announce(self, codec: str) -> None:
        inspector = self._runtime.inspector(protocol.presence_topic(self._service))
        try:
            incarnation = inspector.owner(0)
        finally:
            inspector.close()
        hello = Hello(protocol.VERSION, self.instance, incarnation, codec)
        self._publisher.send(envelope.hello(hello))

    def leave(self) -> None:
        """Remove the topic while its writer entry is still ours, then give up the entry."""
        # defect closed_server_stays_present: return
        with contextlib.suppress(SlipringError):  # else the next server takes it as it is
            self._bus.remove(protocol.presence_topic(self._service), missing_ok=True)
        self._publisher.close()
