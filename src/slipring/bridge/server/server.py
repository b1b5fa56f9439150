# SPDX-License-Identifier: Apache-2.0
"""Server: exports a bus of this host to clients on others.

One thread runs a loop: receive what clients send, publish what waits for room, send batches of the subscriptions
that can be read, and check which clients are still there.

| A peer or a topic | What happens |
|---|---|
| sends what is not a valid message | the peer is refused, and its connection ended |
| is silent | the client loses its handles after `linger_s`; it may come back |
| does not read | its windows fill up, and nothing more is sent to it |
| sends requests and does not read | the client is refused when its replies take too much memory |
| a topic that cannot be used | an error for its clients, logged once; other topics work |
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from slipring._bus import directory
from slipring._bus.bus import Bus
from slipring._bus.closing import Closing
from slipring._bus.logs import logger
from slipring._bus.settings import size_bytes
from slipring.errors import BadArgument, Busy, Closed, PeerGone, SlipringError, WrongLayout

from .. import error_codec, origin_files, wire
from ..identity import identity_of
from ..requirement import zmq
from ..wire import Window
from .client_session import MOST_UNREAD_BYTES, Session, TopicErrors
from .pump import Pump
from .requests import Content, Requests, is_taken
from .server_socket import ServerSocket

log = logger("bridge")

MOST_CLIENTS = 1024
_MOST_IGNORED = 4096
_MESSAGES_A_TURN = 64
_TIDY_EVERY_S = 60.0
_TAKEN_S = 0.1  # how long a request is postponed whose cursor or entry another client has
_TAKEN_CHECK_S = 0.005  # of whether that client has lost its connection meanwhile
_MISSED_HEARTBEATS = 4
_WINDOW = Window()


class _Postponed(NamedTuple):
    """A request for a cursor or an entry of another client, whose connection may be lost."""

    session: Session
    number: int
    content: Content
    until: float


class Server(Closing):
    """Exports a bus.

    >>> server = slipring.bridge.Server(slipring.Bus("robot"), "tcp://127.0.0.1:5555")
    >>> server.start()          # a thread; or run(): this one
    """

    def __init__(
        self,
        bus: Bus,
        address: str = "tcp://127.0.0.1:5555",
        *,
        key: str | os.PathLike[str] | None = None,
        clients: str | os.PathLike[str] | None = None,
        insecure: bool = False,
        heartbeat_s: float = 1.0,
        linger_s: float = 5.0,
        remember_s: float = 3600.0,
        max_message: int | str = "64MiB",
        window: Window = _WINDOW,
        state: str | None = None,
    ) -> None:
        self.bus = bus
        self.heartbeat_s, self.linger_s, self.remember_s = heartbeat_s, linger_s, remember_s
        self.max_message = size_bytes("max_message", max_message)
        directory.make(bus.root, bus.path)
        self.directory = origin_files.directory_of(bus, state)
        self.error: Exception | None = None  # what ended it, if not close()
        self._pid = os.getpid()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._sessions: dict[bytes, Session] = {}
        self._routes: dict[bytes, Session] = {}
        self._ignored: OrderedDict[bytes, None] = OrderedDict()
        self._postponed: list[_Postponed] = []
        self._next_beat = self._next_tidy = 0.0
        self._welcome = {"bus": bus.name, "identity": identity_of(bus), "heartbeat_s": heartbeat_s}
        self._welcome |= {"max_message": self.max_message, "pid": os.getpid(), "schemas": True}
        self._topic_errors = TopicErrors(bus.name)
        self._socket = ServerSocket(address, key, clients, insecure)
        self._pump = Pump(bus, self._topic_errors)
        self._requests = Requests(bus, self.directory, window, self._pump)

    @property
    def address(self) -> str:
        """The address of the exported bus: zmq+tcp://host:port/bus."""
        return f"zmq+{self._socket.endpoint}/{self.bus.name}"

    @property
    def clients(self) -> int:
        """The number of clients that are connected, or were disconnected for less than `linger_s`."""
        return len(self._sessions)

    def start(self) -> Self:
        """Serve in a thread of its own."""
        if self._stopping:
            raise Closed("this server is closed")
        self._thread = threading.Thread(target=self.run, name="slipring-bridge-server", daemon=True)
        self._thread.start()
        return self

    def run(self) -> None:
        """Serve until closed, or until Ctrl-C, which closes it. What ends it otherwise is raised, logged, and kept in
        `error`."""
        try:
            while not self._stopping:
                self._turn()
        except KeyboardInterrupt:
            self.close()  # a program that handles Ctrl-C itself uses start()
        except Exception as error:
            self.error = error
            log.exception("the server of bus %r has ended", self.bus.name)
            raise

    def close(self) -> None:
        """Stop; clients notice, and try to connect again."""
        if self._stopping or os.getpid() != self._pid:
            return
        self._stopping = True
        self._pump.stop_sleeping()
        if self._thread is not None:
            self._thread.join()
        for session in self._sessions.values():
            self._pump.close_session(session)
        self._pump.close()
        self._socket.close()
        self._tidy(None)

    # The loop

    def _turn(self) -> None:
        self._socket.wait(self._pump.descriptor, self._timeout_s())
        now = time.monotonic()
        for route in self._socket.disconnected():
            self._disconnected(route, now)
        for _ in range(_MESSAGES_A_TURN):
            received = self._socket.receive()
            if received is None:
                break
            self._receive(*received, now)
        self._try_postponed(now)
        for session, publisher in self._pump.waiting():
            with self._ending_on_error(session):
                self._pump.publish(session, publisher, now)
        for session, subscription in self._pump.ready():
            with self._ending_on_error(session):
                self._pump.send_batch(session, subscription)
        self._socket.check_connections()
        if now >= self._next_beat:
            self._next_beat = now + self.heartbeat_s
            self._check_sessions(now)

    def _timeout_s(self) -> float:
        timeout_s = self._pump.timeout_s(max(0.0, self._next_beat - time.monotonic()))
        return min(timeout_s, _TAKEN_CHECK_S) if self._postponed else timeout_s

    @contextlib.contextmanager
    def _ending_on_error(self, session: Session) -> Iterator[None]:
        """Let an error end the session of one client, and no other."""
        try:
            yield
        except wire.Malformed as error:
            self._refuse(session.route, BadArgument(f"this is a Slipring bridge: {error}"))
            self._end(session)
        except zmq.ZMQError:
            raise
        except Exception as error:
            log.exception("a client of bus %r is refused: its request failed", self.bus.name)
            self._refuse(session.route, PeerGone(f"the bridge failed: {type(error).__name__}: {error}"))
            self._end(session)

    # What clients send

    def _receive(self, route: bytes, frames: list[bytes], now: float) -> None:
        session = self._routes.get(route)
        if session is None:
            if route not in self._ignored:
                self._receive_first(route, frames, now)
            return
        session.heard = now
        with self._ending_on_error(session):
            message = session.incoming.take(frames)
            if message is None:
                return
            if message.kind == wire.HELLO:
                self._hello(route, message, now)
                return
            self._dispatch(session, message, now)
            if message.kind != wire.BYE and session.does_not_read:
                limit = f"more than {MOST_UNREAD_BYTES} bytes of replies wait for it"
                self._refuse(route, BadArgument(f"this client does not read: {limit}"))
                self._end(session)

    def _receive_first(self, route: bytes, frames: list[bytes], now: float) -> None:
        """From a peer without a session."""
        try:
            message = wire.decode(frames)
        except wire.Malformed as error:
            self._refuse(route, BadArgument(f"this is a Slipring bridge: {error}"))
            return
        if message.kind == wire.HELLO:
            self._hello(route, message, now)
        else:  # its session ended because it was silent: it can connect again
            self._send_last(route, wire.plain(wire.ENDED))

    def _dispatch(self, session: Session, message: wire.Message, now: float) -> None:
        kind, numbers, content = message
        if kind == wire.ACK:
            number, epoch, position = numbers
            subscription = session.subscriptions.get(number)
            if subscription is not None:
                subscription.acknowledge(epoch, position)
                self._pump.wake(subscription)
        elif kind == wire.PUBLISH:
            self._publish(session, numbers, content, now)
        elif kind == wire.REQUEST:
            self._answer(session, numbers[0], content)
        elif kind == wire.SYNC:
            self._sync(session, *numbers)
        elif kind == wire.PING:
            session.send_now(wire.plain(wire.PONG, *numbers))
        elif kind == wire.PONG:
            session.outgoing.confirm(numbers[0])
            session.outgoing.flush()
        elif kind == wire.BYE:
            self._end(session)
        else:
            raise wire.Malformed(f"kind {kind!r} from a client")

    def _publish(
        self, session: Session, numbers: tuple[Any, ...], records: list[wire.Record], now: float
    ) -> None:
        request, number, timeout_s = numbers
        try:
            publisher = session.publisher(number)
        except BadArgument as error:
            session.reply(request, error_codec.to_json(error))
            return
        publisher.offer(request, records, timeout_s)
        self._pump.publish(session, publisher, now)

    def _sync(self, session: Session, number: int, epoch: int, token: int) -> None:
        """Send all available messages, as far as there is room, and confirm that."""
        subscription = session.subscriptions.get(number)
        if subscription is not None:
            while self._pump.send_batch(session, subscription, subscription.may_exceed_window):
                if subscription.conflate:
                    break
        session.send(wire.plain(wire.SYNCED, number, epoch, token))

    def _answer(self, session: Session, number: int, content: Content, until: float | None = None) -> None:
        """Do what is requested, and reply. Postpone it if another client is in the way, whose connection may be lost.
        until: the end of postponing."""
        name, topic = content.get("request"), str(content.get("topic", ""))
        try:
            if name in (
                "unsubscribe",
                "close_publisher",
            ):  # a handle that is still to be opened is not wanted any more
                self._cancel_postponed(session, content.get("handle"))
            reply = {"value": self._requests.run(session, content)}
            if name == "remove":  # subscribers hear of it before the client that removed the topic
                for each in list(self._sessions.values()):
                    with self._ending_on_error(each):
                        self._pump.report_failures(each, topic)
        except (SlipringError, OSError, TypeError, ValueError, OverflowError) as error:
            if is_taken(content, error) and self._postpone(session, number, content, until):
                return
            self._topic_errors.log(topic, error)
            reply = error_codec.to_json(error)
        session.reply(number, reply)

    def _postpone(self, session: Session, number: int, content: Content, until: float | None) -> bool:
        """Whether it is tried again: the end of another client's connection is known a little later."""
        now = time.monotonic()
        until = now + _TAKEN_S if until is None else until
        others = [other for other in self._sessions.values() if other is not session]
        if not others or now >= until:
            return False
        for other in others:
            other.send_now(wire.plain(wire.PING, wire.HEARTBEAT))
        self._postponed.append(_Postponed(session, number, content, until))
        return True

    def _cancel_postponed(self, session: Session, handle: Any = None) -> None:
        self._postponed = [
            one
            for one in self._postponed
            if one.session is not session or handle not in (None, one.content.get("handle"))
        ]

    def _try_postponed(self, now: float) -> None:
        """Try again when a client has lost its connection, and with it its handles, and at the end of the time."""
        if not self._postponed:
            return
        waiting = {one.session.client for one in self._postponed}
        gone = [one for one in self._sessions.values() if not one.connected and one.client not in waiting]
        for session in gone:
            self._end(session)
        postponed, self._postponed = self._postponed, []
        for one in postponed:
            if not gone and now < one.until:
                self._postponed.append(one)
            elif one.session.connected:
                with self._ending_on_error(one.session):
                    self._answer(one.session, one.number, one.content, one.until)

    # Which clients there are

    def _hello(self, route: bytes, message: wire.Message, now: float) -> None:
        magic, version, client = message.numbers
        wanted = message.content.get("bus")
        if magic != wire.MAGIC or version != wire.VERSION:
            text = f"the bridge speaks version {wire.VERSION} of the protocol, not {version}"
            self._refuse(route, WrongLayout(text))
        elif wanted != self.bus.name:
            text = f"the bridge exports bus {self.bus.name!r}, not {wanted!r}"
            self._refuse(route, BadArgument(text, argument="name"))
        elif client not in self._sessions and len(self._sessions) >= MOST_CLIENTS:
            self._refuse(route, Busy(f"the bridge has {MOST_CLIENTS} clients already, which is its limit"))
        else:
            other, session = self._routes.get(route), self._sessions.get(client)
            if other is not None and other is not session:
                other.connected = False
            if session is None:
                session = Session(client, self._socket, route, self.max_message, now)
                self._sessions[client] = session
            self._routes.pop(session.route, None)
            self._routes[route] = session
            self._cancel_postponed(session)
            session.connect(route, now)
            session.send(wire.with_json(wire.WELCOME, wire.VERSION, content=self._welcome))

    def _disconnected(self, route: bytes, now: float) -> None:
        """Keep the session of a lost connection for a while."""
        session = self._routes.get(route)
        if session is not None and session.connected:
            session.connected, session.gone_since = False, now

    def _refuse(self, route: bytes, error: SlipringError) -> None:
        self._send_last(route, wire.with_json(wire.REFUSED, wire.VERSION, content=error_codec.to_json(error)))

    def _send_last(self, route: bytes, frames: wire.Frames) -> None:
        """Send a last message, ignore what comes by this route from now on, and end the connection."""
        self._routes.pop(route, None)
        self._ignored[route] = None
        if len(self._ignored) > _MOST_IGNORED:
            self._ignored.popitem(last=False)
        self._socket.send(route, frames)
        self._socket.end(route)

    def _end(self, session: Session) -> None:
        session.connected = False
        self._sessions.pop(session.client, None)
        if self._routes.get(session.route) is session:
            self._routes.pop(session.route)
        self._cancel_postponed(session)
        self._pump.close_session(session)

    def _check_sessions(self, now: float) -> None:
        """At each heartbeat: ping clients, send errors of removed or damaged topics, end sessions of silent clients."""
        for session in list(self._sessions.values()):
            if session.connected:
                session.send_now(wire.plain(wire.PING, wire.HEARTBEAT))
                with self._ending_on_error(session):
                    self._pump.report_failures(session)
            silent = now - session.heard > self.heartbeat_s * _MISSED_HEARTBEATS
            if session.connected and not silent:
                session.gone_since = now
            elif now - session.gone_since > self.linger_s:
                if session.connected:
                    self._send_last(session.route, wire.plain(wire.ENDED))
                self._end(session)
        if now >= self._next_tidy:
            self._next_tidy = now + _TIDY_EVERY_S
            self._tidy(self._is_old)

    def _tidy(self, is_old: Any) -> None:
        try:
            origin_files.tidy(self.bus, self.directory, is_old)
        except (SlipringError, OSError) as error:
            self._topic_errors.log("", error)

    def _is_old(self, about: dict[str, object], changed_s: float) -> bool:
        """Remote publishers are remembered for a while, mirrors forever."""
        return str(about.get("origin")).startswith("client:") and time.time() - changed_s > self.remember_s


Server.__module__ = "slipring.bridge"
