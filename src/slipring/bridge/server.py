# SPDX-License-Identifier: Apache-2.0
"""Server: exports a bus of this host to clients on others.

One thread runs a loop: receive what clients send, publish what waits for room, read what subscriptions have
room for, and now and then see who is still there. Sequences and the order of messages come from the rings;
the server only carries. It keeps nothing that a kill could lose but what the ledger notes.

    a peer that speaks no valid message        is refused, and its connection ended
    a client nothing is heard of               loses its handles after a while (`linger_s`); it may come back
    a client that does not read                fills its windows, and nothing is sent to it any more
    a client that asks and does not read       is refused when its replies take too much memory
    a topic that cannot be used                is an error for those who use it, and is logged; others go on
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
from slipring.errors import (
    BadArgument,
    Busy,
    Closed,
    Corrupt,
    Denied,
    PeerGone,
    SlipringError,
    WrongLayout,
)

from . import ledger, refusals, wire
from .carrying import Carrying
from .door import Door, identity_of
from .outlet import Window
from .requirement import zmq
from .session import MOST_UNREAD_BYTES, Session

log = logger("bridge")

MOST_CLIENTS = 1024
_MOST_IGNORED = 4096
_MOST_REPORTED = 4096
_LETTERS_A_TURN = 64
_TIDY_EVERY_S = 60.0
_TAKEN_S, _TAKEN_LOOK_S = 0.1, 0.005
_MISSED_HEARTBEATS = 4
_WINDOW = Window()


class _Postponed(NamedTuple):
    """A request for what another client has, who may be gone."""

    session: Session
    number: int
    content: dict[str, Any]
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
        self.bus, self.window = bus, window
        self.heartbeat_s, self.linger_s, self.remember_s = heartbeat_s, linger_s, remember_s
        self.max_message = size_bytes("max_message", max_message)
        directory.make(bus.root, bus.path)
        self.directory = ledger.directory_of(bus, state)
        self._sessions: dict[bytes, Session] = {}
        self._routes: dict[bytes, Session] = {}
        self._ignored: OrderedDict[bytes, None] = OrderedDict()
        self._postponed: list[_Postponed] = []
        self._reported: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.error: Exception | None = None  # what ended it, if not close()
        self._pid = os.getpid()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._next_beat = self._next_tidy = 0.0
        self._door = Door(address, key, clients, insecure)
        self.carrying = Carrying(bus, self.send, self.report, self._for_client)
        self._welcome = {"bus": bus.name, "identity": identity_of(bus), "heartbeat_s": heartbeat_s}
        self._welcome |= {"max_message": self.max_message, "pid": os.getpid()}

    @property
    def address(self) -> str:
        """Where it listens: zmq+tcp://host:port/bus."""
        return f"zmq+{self._door.endpoint}/{self.bus.name}"

    @property
    def clients(self) -> int:
        """How many clients there are, connected or not long gone."""
        return len(self._sessions)

    # Life

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
        """Stop; clients find out and try to come back."""
        if self._stopping or os.getpid() != self._pid:
            return
        self._stopping = True
        self.carrying.watch.wake()
        if self._thread is not None:
            self._thread.join()
        for session in self._sessions.values():
            session.close()
        self.carrying.close()
        self._door.close()
        self._tidy(None)

    # The loop

    def _turn(self) -> None:
        self._door.wait(self.carrying.watch.descriptor, self._patience_s())
        self.carrying.notice()
        now = time.monotonic()
        for route in self._door.connections.lost():
            self._lose(route, now)
        for _ in range(_LETTERS_A_TURN):
            letter = self._door.receive()
            if letter is None:
                break
            self._receive(*letter, now)
        self._try_again(now)
        self.carrying.turn(now)
        self._door.connections.look()
        if now >= self._next_beat:
            self._next_beat = now + self.heartbeat_s
            self._look_after(now)

    def _patience_s(self) -> float:
        beat_s = max(0.0, self._next_beat - time.monotonic())
        patience_s = self._door.connections.patience_s(self.carrying.patience_s(beat_s))
        return min(patience_s, _TAKEN_LOOK_S) if self._postponed else patience_s

    def _lose(self, route: bytes, now: float) -> None:
        """Its connection has ended; the session stays for a while."""
        session = self._routes.get(route)
        if session is not None and session.connected:
            session.connected, session.gone_since = False, now

    def _receive(self, route: bytes, frames: list[bytes], now: float) -> None:
        session = self._routes.get(route)
        if session is None:
            if route not in self._ignored:
                self._meet(route, frames, now)
            return
        session.heard = now
        with self._for_client(session):
            letter = session.incoming.take(frames)
            if letter is None:
                return
            if letter.kind == wire.HELLO:
                self._greet(route, letter, now)
                return
            session.receive(letter, now)
            if letter.kind == wire.BYE:
                self._end(session)
            elif session.does_not_read:
                text = (
                    f"this client does not read: more than {MOST_UNREAD_BYTES} bytes of replies wait for it"
                )
                self._refuse(route, BadArgument(text))
                self._end(session)

    def _meet(self, route: bytes, frames: list[bytes], now: float) -> None:
        """Something from a peer that has no session."""
        try:
            letter = wire.decode(frames)
        except wire.Malformed as error:
            self._refuse(route, BadArgument(f"this is a Slipring bridge: {error}"))
            return
        if letter.kind == wire.HELLO:
            self._greet(route, letter, now)
        else:  # it was silent for too long, and may come again
            self._dismiss(route, wire.plain(wire.ENDED))

    @contextlib.contextmanager
    def _for_client(self, session: Session) -> Iterator[None]:
        """What fails here ends one client's session, and nobody else's."""
        try:
            yield
        except wire.Malformed as error:
            self._refuse(session.route, BadArgument(f"this is a Slipring bridge: {error}"))
            self._end(session)
        except zmq.ZMQError:
            raise
        except Exception as error:
            log.exception("a client of bus %r is refused: what it asked for failed", self.bus.name)
            self._refuse(session.route, PeerGone(f"the bridge failed: {type(error).__name__}: {error}"))
            self._end(session)

    def _greet(self, route: bytes, letter: wire.Letter, now: float) -> None:
        magic, version, client = letter.numbers
        wanted = letter.content.get("bus")
        if magic != wire.MAGIC or version != wire.VERSION:
            text = f"the bridge speaks version {wire.VERSION} of the protocol, not {version}"
            self._refuse(route, WrongLayout(text))
        elif wanted != self.bus.name:
            text = f"the bridge exports bus {self.bus.name!r}, not {wanted!r}"
            self._refuse(route, BadArgument(text, argument="name"))
        elif client not in self._sessions and len(self._sessions) >= MOST_CLIENTS:
            self._refuse(route, Busy(f"the bridge has its {MOST_CLIENTS} clients"))
        else:
            other, session = self._routes.get(route), self._sessions.get(client)
            if other is not None and other is not session:
                other.connected = False
            if session is None:
                session = self._sessions[client] = Session(self, client, route, now)
            self._routes.pop(session.route, None)
            self._routes[route] = session
            self._postponed = [one for one in self._postponed if one.session is not session]
            session.connect(route, now)
            self.send(session, wire.with_json(wire.WELCOME, wire.VERSION, content=self._welcome))

    def _refuse(self, route: bytes, error: SlipringError) -> None:
        content = refusals.to_json(error)
        self._dismiss(route, wire.with_json(wire.REFUSED, wire.VERSION, content=content))

    def _dismiss(self, route: bytes, last: wire.Frames) -> None:
        """Say one last thing; then nothing from there is looked at, and the connection is ended."""
        self._routes.pop(route, None)
        self._ignored[route] = None
        if len(self._ignored) > _MOST_IGNORED:
            self._ignored.popitem(last=False)
        self._door.send(route, last)
        self._door.connections.end(route)

    def _look_after(self, now: float) -> None:
        """Who is still there?"""
        for session in list(self._sessions.values()):
            if session.connected:
                self.send_now(session, wire.plain(wire.PING, 0))
                with self._for_client(session):
                    self.carrying.tell_failures(session)
            silent = now - session.heard > self.heartbeat_s * _MISSED_HEARTBEATS
            if session.connected and not silent:
                session.gone_since = now
            elif now - session.gone_since > self.linger_s:
                if session.connected:
                    self._dismiss(session.route, wire.plain(wire.ENDED))
                self._end(session)
        if now >= self._next_tidy:
            self._next_tidy = now + _TIDY_EVERY_S
            self._tidy(self._is_old)

    def _tidy(self, is_old: Any) -> None:
        try:
            ledger.tidy(self.bus, self.directory, is_old)
        except (SlipringError, OSError) as error:
            self.report("", error)

    def _is_old(self, about: dict[str, object], changed_s: float) -> bool:
        """Remote publishers are remembered for a while, mirrors for ever."""
        return str(about.get("origin")).startswith("client:") and time.time() - changed_s > self.remember_s

    def _end(self, session: Session) -> None:
        session.connected = False
        self._sessions.pop(session.client, None)
        if self._routes.get(session.route) is session:
            self._routes.pop(session.route)
        self._postponed = [one for one in self._postponed if one.session is not session]
        self.carrying.give_up(session)
        session.close()

    # For sessions

    def send(self, session: Session, frames: wire.Frames) -> None:
        """In turn, as far as the client has read."""
        if session.connected:
            session.outgoing.put(frames)
            self.flush(session)

    def flush(self, session: Session) -> None:
        session.outgoing.flush()

    def send_now(self, session: Session, frames: wire.Frames) -> bool:
        """Before all that waits; False: the client is gone."""
        if session.connected and not self._door.send(session.route, frames):
            session.connected = False
            session.gone_since = time.monotonic()
        return session.connected

    def report(self, topic: str, error: Exception) -> None:
        """Log what makes a topic unusable, once."""
        key = topic, f"{type(error).__name__}: {error}"
        if not isinstance(error, (Corrupt, Denied, OSError, WrongLayout)) or key in self._reported:
            return
        self._reported[key] = None
        if len(self._reported) > _MOST_REPORTED:
            self._reported.popitem(last=False)
        log.warning("topic %r of bus %r cannot be used: %s", topic, self.bus.name, key[1])

    def tell_gone(self, topic: str) -> None:
        for session in list(self._sessions.values()):
            with self._for_client(session):
                self.carrying.tell_failures(session, topic)

    # What a client asks for and another one has

    def postpone(self, session: Session, number: int, content: dict[str, Any], until: float | None) -> bool:
        """Whether it is tried again: another one's connection may be gone, and that is told a little later."""
        now = time.monotonic()
        until = now + _TAKEN_S if until is None else until
        others = [other for other in self._sessions.values() if other is not session]
        if not others or now >= until:
            return False
        for other in others:
            self.send_now(other, wire.plain(wire.PING, 0))
        self._postponed.append(_Postponed(session, number, content, until))
        return True

    def cancel(self, session: Session, handle: int) -> None:
        self._postponed = [
            one
            for one in self._postponed
            if one.session is not session or one.content.get("handle") != handle
        ]

    def _try_again(self, now: float) -> None:
        """When a client has lost its connection, who then loses what others wait for, and at the end."""
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
                with self._for_client(one.session):
                    one.session.answer(one.number, one.content, one.until)


Server.__module__ = "slipring.bridge"
