# SPDX-License-Identifier: Apache-2.0
"""A client's connection: it finds the living server, writes to the service's calls, and has a reply topic of its own.

It is made at the first call, and again when the service's topics were created again. For another server on the same
topics only that server's Hello is read. A Hello is valid as long as the writer entry of `<service>.server` has the
incarnation that the Hello names, and its lock is held.
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

from .. import cleanup, envelope, protocol
from ..protocol import Call, Hello
from ..server.method_call import CURRENT
from .replies import PendingCall, Replies

if TYPE_CHECKING:
    from ...publisher import Publisher
    from ...subscriber import Subscriber
    from ..runtime import Inspector, TopicBus


class Connection:
    def __init__(self, bus: TopicBus, service: str, codec: str, reply_settings: dict[str, Any]) -> None:
        self._bus, self._service, self._codec = bus, service, codec
        self._settings = reply_settings
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.runtime = bus._calls_runtime()
        self._inspector: Inspector | None = None  # of the server's writer entry
        self._hello: Hello | None = None  # of the server that lived when it was last read
        self._requests: Publisher | None = None
        self._replies: Subscriber | None = None
        self._reply_topic = ""
        self.client_id = ""
        self.replies: Replies | None = None
        # defect call_number_reused: self._numbers = itertools.repeat(1)
        self._numbers = itertools.count(1)
        self.closed = False

    # One call

    def request(
        self, method: str, arguments: bytes, deadline: float | None, max_answer: int, window: int
    ) -> PendingCall:
        """Send a call to the living server. Full when there is no room in time, PeerGone without a server."""
        hello, replies = self.ready()
        instance = hello.instance
        current = CURRENT.get()
        trail = () if current is None else current.nested_trail()
        deadline_ns = (
            0 if deadline is None else math.ceil(deadline * 1e9)
        )  # CLOCK_MONOTONIC, as time.monotonic
        call = replies.begin(next(self._numbers), instance, method, max_answer, window)
        try:
            request = Call(instance, deadline_ns, max_answer, window, method, arguments, trail)
            self._send(envelope.call(call.req_id, request), deadline, instance)
        except BaseException:
            call.ended = True  # the server has not seen it
            replies.give_up(call)
            raise
        return call

    def ready(self) -> tuple[Hello, Replies]:
        """Return the living server and where its answers arrive; PeerGone without a server."""
        hello, replies = self._hello, self.replies
        if hello and replies is not None and not replies.dead and not self.closed and self._server_lives():
            return hello, replies
        with self._lock:
            return self._connect()

    def _server_lives(self) -> bool:
        """Return whether the server that sent our Hello lives."""
        inspector, hello = self._inspector, self._hello
        if inspector is None or hello is None:
            return False
        try:
            # defect dead_server_looks_alive: return True
            return inspector.owner(0) == hello.incarnation
        except SlipringError:
            return False  # closed by another thread, or the topic is gone

    def _lives(self, instance: int) -> bool:
        hello = self._hello
        return hello is not None and hello.instance == instance and self._server_lives()

    def _send(self, body: bytes, deadline: float | None, instance: int) -> None:
        requests = self._requests
        if requests is None:
            raise self._lost()
        slice_s = self.runtime.slice_s
        while True:
            left = slice_s if deadline is None else deadline - self.runtime.clock.monotonic()
            try:
                requests.send(body, "", 0 if left <= 0 else min(left, slice_s))
                return
            except Full:
                if not self._lives(instance):
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
                if self.replies is not None:
                    self.replies.dead = True  # the next call connects again
                raise PeerGone("the server is gone", argument="service") from None

    def _lost(self) -> SlipringError:
        return Closed("this client is closed") if self.closed else PeerGone("the server is gone")

    # Connecting

    def _connect(self) -> tuple[Hello, Replies]:
        if self.closed:
            raise Closed("this client is closed")
        replies = self.replies
        if self._server_lives() and self._hello is not None and replies is not None and not replies.dead:
            return self._hello, replies  # another thread was faster
        hello = self._find_server()
        if hello.codec != self._codec:
            self._forget_server()
            raise BadArgument(
                f"service '{self._service}' uses codec {hello.codec!r}, this client {self._codec!r}: give "
                f"codec={hello.codec!r}",
                argument="codec",
            )
        if self._requests is None or self._is_gone():
            self._attach()
        assert self.replies is not None
        return hello, self.replies

    def _find_server(self) -> Hello:
        self._forget_server()
        topic = protocol.presence_topic(self._service)
        try:
            self._inspector = self.runtime.inspector(topic)
            incarnation = self._inspector.owner(0)
            hello = self._newest_hello(topic)
        except (TopicNotFound, TopicGone):
            hello, incarnation = None, 0
        if hello is None or not incarnation or hello.incarnation != incarnation:
            raise PeerGone(f"service '{self._service}' has no living server", argument="service")
        if hello.version != protocol.VERSION:
            raise PeerGone(
                f"the server of '{self._service}' uses version {hello.version} of the protocol, this client "
                f"version {protocol.VERSION}: install the same Slipring for both",
                argument="service",
            )
        self._hello = hello
        return hello

    def _newest_hello(self, topic: str) -> Hello | None:
        with self._bus.subscriber(topic, start="last") as announcements:
            message = announcements.recv(0)
        if message is None:
            return None
        try:
            _, payload = envelope.decode(bytes(message.body))
        except envelope.Malformed:
            return None
        return payload if isinstance(payload, Hello) else None

    def _forget_server(self) -> None:
        inspector, self._inspector, self._hello = self._inspector, None, None
        if inspector is not None:
            inspector.close()

    def _is_gone(self) -> bool:
        """Whether our topics were removed, and possibly created again."""
        try:
            assert self._requests is not None and self._replies is not None
            self._requests._subscribers()
            dead = self.replies is None or self.replies.dead
            return dead or self._replies.closed or not self.runtime.exists(self._reply_topic)
        except SlipringError:
            return True

    def _attach(self) -> None:
        """The order matters: see cleanup.py."""
        self._detach()
        cleanup.remove_all(self._bus, self._service)
        self.client_id = self.runtime.random(8).hex()
        calls = protocol.calls_topic(self._service)
        try:
            self._requests = self._bus.publisher(calls, self.client_id, must_exist=True)
            mode = self._bus._tables(calls)["mode"]
        except (TopicNotFound, TopicGone):
            self._detach()
            raise PeerGone(f"service '{self._service}' has no living server", argument="service") from None
        topic = self._reply_topic = protocol.reply_topic(self._service, self.client_id)
        settings = {
            "mode": mode, "delivery": "reliable", "max_readers": 8, "max_writers": 8, "max_cursors": 1,
        }  # fmt: skip
        try:
            self._bus.create(topic, exist_ok=False, **{**settings, **self._settings})
            self._replies = self._bus.subscriber(topic, start="oldest")
        except BaseException:
            self._detach()
            raise
        make = self.runtime.replies or Replies
        self.replies = make(self.runtime, self._replies, self._requests, self._lives)

    def _detach(self) -> None:
        subscriber, requests, replies = self._replies, self._requests, self.replies
        self._replies = self._requests = self.replies = None
        if replies is not None:
            replies.end_all(self._lost())
        if self._reply_topic:
            with contextlib.suppress(SlipringError):  # else the next client or server does it
                self._bus.remove(self._reply_topic, missing_ok=True)
            self._reply_topic = ""
        if subscriber is not None:
            subscriber.close()
        if requests is not None:
            requests.close()

    def close(self) -> None:
        if os.getpid() != self._pid:
            return  # a forked child: these are its parent's topics
        with self._lock:
            self.closed = True
            with self.runtime.closing():
                self._detach()
                self._forget_server()
