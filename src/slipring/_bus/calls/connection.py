# SPDX-License-Identifier: Apache-2.0
"""A client's topics: it writes to the service's calls and has a reply topic of its own. Made at the first
call, and anew when the service's topics were; for another server on the same topics only its Hello is read.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import threading
from typing import TYPE_CHECKING, Any

from slipring.errors import (
    BadArgument,
    Closed,
    Full,
    PeerGone,
    SlipringError,
    TooLarge,
    TopicGone,
    TopicNotFound,
)

from . import leftovers, names
from .messages import Hello
from .seat import View

if TYPE_CHECKING:
    from ..bus import Bus
    from ..publisher import Publisher
    from ..subscriber import Subscriber
    from .inbox import Inbox

SMALLEST_REPLY = 64 << 10


class Connection:
    def __init__(self, bus: Bus, service: str, codec: str, reply_settings: dict[str, Any]) -> None:
        self._bus, self._service, self._codec = bus, service, codec
        self._settings = reply_settings
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.ground = bus._ground()
        self._view = View(bus, self.ground, service)
        self._requests: Publisher | None = None
        self._replies: Subscriber | None = None
        self._reply_topic = ""
        self.client_id = ""
        self.inbox: Inbox | None = None
        # defect call_number_reused: self.numbers = itertools.repeat(1)
        self.numbers = itertools.count(1)
        self.closed = False

    def ready(self) -> tuple[Hello, Inbox]:
        """The living server and where its answers come; PeerGone when there is none."""
        view, inbox = self._view, self.inbox
        hello = view.hello
        if hello is not None and inbox is not None and not inbox.dead and not self.closed and view.lives():
            return hello, inbox
        with self._lock:
            return self._connect()

    def lives(self, instance: int) -> bool:
        hello = self._view.hello
        return hello is not None and hello.instance == instance and self._view.lives()

    def _connect(self) -> tuple[Hello, Inbox]:
        if self.closed:
            raise Closed("this client is closed")
        inbox = self.inbox
        if self._view.lives() and self._view.hello is not None and inbox is not None and not inbox.dead:
            return self._view.hello, inbox  # another thread was faster
        hello = self._view.find()
        if hello.codec != self._codec:
            self._view.close()
            raise BadArgument(
                f"service '{self._service}' speaks codec {hello.codec!r}, not {self._codec!r}: use that",
                argument="codec",
            )
        if self._requests is None or self._is_gone():
            self._attach()
        assert self.inbox is not None
        return hello, self.inbox

    def _is_gone(self) -> bool:
        """Whether the topics were removed and made anew under us."""
        try:
            assert self._requests is not None and self._replies is not None
            self._requests._subscribers()
            dead = self.inbox is None or self.inbox.dead
            return dead or self._replies.closed or not self.ground.exists(self._reply_topic)
        except SlipringError:
            return True

    def _attach(self) -> None:
        """The order matters: see leftovers.py."""
        self._detach()
        leftovers.remove_all(self._bus, self._service)
        self.client_id = self.ground.random(8).hex()
        calls = names.calls_topic(self._service)
        try:
            self._requests = self._bus.publisher(calls, self.client_id, must_exist=True)
            mode = self._bus._tables(calls)["mode"]
        except (TopicNotFound, TopicGone):
            self._detach()
            raise PeerGone(f"service '{self._service}' has no living server", argument="service") from None
        topic = self._reply_topic = names.reply_topic(self._service, self.client_id)
        settings = {
            "mode": mode,
            "delivery": "reliable",
            "max_readers": 8,
            "max_writers": 8,
            "max_cursors": 1,
        }
        try:
            self._bus.create(topic, exist_ok=False, **{**settings, **self._settings})
            self._replies = self._bus.subscriber(topic, start="oldest")
        except BaseException:
            self._detach()
            raise
        self.inbox = self.ground.inbox(self._replies, self._requests, self.lives, self.send_if_room)

    def _detach(self) -> None:
        replies, requests, inbox = self._replies, self._requests, self.inbox
        self._replies = self._requests = self.inbox = None
        if inbox is not None:
            inbox.end_all(Closed("this client is closed") if self.closed else PeerGone("the server is gone"))
        if self._reply_topic:
            with contextlib.suppress(SlipringError):  # else the next client or server does it
                self._bus.remove(self._reply_topic, missing_ok=True)
            self._reply_topic = ""
        if replies is not None:
            replies.close()
        if requests is not None:
            requests.close()

    def send(self, body: bytes, deadline: float | None, instance: int) -> None:
        """To the server; Full when there is no room in time, PeerGone when it died meanwhile."""
        requests = self._requests
        if requests is None:
            raise Closed("this client is closed") if self.closed else PeerGone("the server is gone")
        slice_s = self.ground.slice_s
        while True:
            left = slice_s if deadline is None else deadline - self.ground.clock.monotonic()
            try:
                requests.send(body, "", 0 if left <= 0 else min(left, slice_s))
                return
            except Full:
                if not self.lives(instance):
                    raise PeerGone("the server is gone", argument="service") from None
                if left <= 0:
                    raise Full(
                        f"service '{self._service}' takes no more calls: it is stopped or far behind",
                        argument="timeout",
                    ) from None
            except TooLarge as error:
                raise TooLarge(
                    f"these arguments are too large for one request: {error}", argument="arguments"
                ) from None
            except TopicGone:
                if self.inbox is not None:
                    self.inbox.dead = True  # connect anew
                raise PeerGone("the server is gone", argument="service") from None

    def send_if_room(self, body: bytes) -> bool:
        """What is only a courtesy: False when there is no room, or nobody to be told."""
        requests = self._requests
        if requests is None:
            return False
        try:
            requests.send(body, "", 0)
            return True
        except SlipringError:
            return False

    def close(self) -> None:
        if os.getpid() != self._pid:
            return  # a forked child: these are its parent's topics
        with self._lock:
            self.closed = True
            with self.ground.last_words():
                self._detach()
                self._view.close()

    def deadline_of(self, seconds: float | None) -> float | None:
        return None if seconds is None else self.ground.clock.monotonic() + seconds


def deadline_ns(deadline: float | None) -> int:
    """As it travels: CLOCK_MONOTONIC, which is what time.monotonic tells on Linux."""
    return 0 if deadline is None else math.ceil(deadline * 1e9)
