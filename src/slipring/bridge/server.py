# SPDX-License-Identifier: Apache-2.0
"""Server: exports a bus of this host to clients on others.

One thread runs a loop: receive what clients send, publish what waits for room, read what subscriptions have
room for, and now and then see who is still there. Sequences and the order of messages come from the rings;
the server only carries. It keeps nothing that a kill could lose but what the ledger notes.

    a peer that speaks no valid message        is not listened to any more
    a client nothing is heard of               loses its handles after a while (`linger_s`)
    a client that does not read                fills its windows, and nothing is sent to it any more
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from typing import Self

from slipring._bus import directory
from slipring._bus.bus import Bus
from slipring._bus.closing import Closing
from slipring._bus.settings import size_bytes
from slipring.errors import BadArgument, Busy, Closed, SlipringError, WrongLayout

from . import ledger, refusals, wire
from .carrying import Carrying
from .door import Door, identity_of
from .outlet import Window
from .session import Session

MOST_CLIENTS = 1024
_MOST_IGNORED = 4096
_LETTERS_A_TURN = 64
_ROOM_LOOK_S = 0.002
_TIDY_EVERY_S = 60.0
_MISSED_HEARTBEATS = 4
_WINDOW = Window()


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
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._next_beat = self._next_tidy = 0.0
        self._door = Door(address, key, clients, insecure, self.max_message)
        self.carrying = Carrying(bus, self.send)
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
        """Serve until closed."""
        while not self._stopping:
            self._turn()

    def close(self) -> None:
        """Stop; clients find out and try to come back."""
        if self._stopping:
            return
        self._stopping = True
        self.carrying.watch.wake()
        if self._thread is not None:
            self._thread.join()
        for session in self._sessions.values():
            session.close()
        self.carrying.close()
        self._door.close()
        ledger.tidy(self.bus, self.directory)

    # The loop

    def _turn(self) -> None:
        beat_s = max(0.0, self._next_beat - time.monotonic())
        self._door.wait(self.carrying.watch.descriptor, self.carrying.patience_s(beat_s))
        self.carrying.notice()
        now = time.monotonic()
        for _ in range(_LETTERS_A_TURN):
            letter = self._door.receive()
            if letter is None:
                break
            self._receive(*letter, now)
        self.carrying.turn(now)
        if now >= self._next_beat:
            self._next_beat = now + self.heartbeat_s
            self._look_after(now)

    def _receive(self, route: bytes, frames: list[bytes], now: float) -> None:
        session = self._routes.get(route)
        if session is None and route in self._ignored:
            return
        try:
            letter = wire.decode(frames)
            if letter.kind == wire.HELLO:
                self._greet(route, letter, now)
            elif session is None:
                raise wire.Malformed("no greeting")
            else:
                session.receive(letter, now)
                if letter.kind == wire.BYE:
                    self._end(session)
        except wire.Malformed as error:
            self._refuse(route, BadArgument(f"this is a Slipring bridge: {error}"))
            if session is not None:
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
            session = self._sessions.get(client)
            if session is None:
                session = self._sessions[client] = Session(self, client, route, now)
            self._routes.pop(session.route, None)
            self._routes[route] = session
            session.route, session.heard, session.connected = route, now, True
            self.send(session, wire.with_json(wire.WELCOME, wire.VERSION, content=self._welcome))

    def _refuse(self, route: bytes, error: SlipringError) -> None:
        self._routes.pop(route, None)
        self._ignored[route] = None
        if len(self._ignored) > _MOST_IGNORED:
            self._ignored.popitem(last=False)
        content = refusals.to_json(error)
        self._door.send(route, wire.with_json(wire.REFUSED, wire.VERSION, content=content))

    def _look_after(self, now: float) -> None:
        """Who is still there?"""
        for session in list(self._sessions.values()):
            if session.connected:
                self.send(session, wire.plain(wire.PING, 0))
                self.carrying.tell_failures(session)
            silent = now - session.heard > self.heartbeat_s * _MISSED_HEARTBEATS
            if session.connected and not silent:
                session.gone_since = now
            elif now - session.gone_since > self.linger_s:
                self._end(session)
        if now >= self._next_tidy:
            self._next_tidy = now + _TIDY_EVERY_S
            ledger.tidy(self.bus, self.directory, self._is_old)

    def _is_old(self, about: dict[str, object], changed_s: float) -> bool:
        """Remote publishers are remembered for a while, mirrors for ever."""
        return str(about.get("origin")).startswith("client:") and time.time() - changed_s > self.remember_s

    def _end(self, session: Session) -> None:
        self._sessions.pop(session.client, None)
        self._routes.pop(session.route, None)
        self.carrying.give_up(session)
        session.close()

    # For sessions

    def send(self, session: Session, frames: wire.Frames) -> None:
        if session.connected and not self._door.send(session.route, frames):
            session.connected = False
            session.gone_since = time.monotonic()

    def tell_gone(self, topic: str) -> None:
        for session in self._sessions.values():
            self.carrying.tell_failures(session, topic)

    def has_others(self, session: Session) -> bool:
        return any(other is not session for other in self._sessions.values())

    def drop_unreachable(self, session: Session) -> bool:
        """End the sessions of those whose connection is gone; whether there were any."""
        for other in self._sessions.values():
            self.send(other, wire.plain(wire.PING, 0))
        gone = [other for other in self._sessions.values() if not other.connected and other is not session]
        for other in gone:
            self._end(other)
        return bool(gone)


Server.__module__ = "slipring.bridge"
