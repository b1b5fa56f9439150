# SPDX-License-Identifier: Apache-2.0
"""A client's link to its bridge: one thread that connects, speaks, listens, and connects again.

The threads of the program leave what is to be sent on the desk (desk.py) and wait for answers. When a
connection breaks and the next one is greeted, first the handles are opened again where they stood,
publishers before subscriptions; then what was asked and not answered is asked again, unless doing it twice
would be another thing than once.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from slipring._bus.logs import logger
from slipring.errors import Closed, ForkedHandle, SlipringError, Timeout

from . import refusals, wire
from .address import Address
from .connection import Connection, State, denied, gone
from .desk import Call, Desk, Then
from .requirement import zmq

if TYPE_CHECKING:
    from .handles import Handle

log = logger("bridge")
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.02, 1.0
_MISSED_HEARTBEATS = 4
_DOUBTS = 2  # handshakes that broke before it is said that they are refused
_LETTERS_A_TURN = 64


class Link:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.client = os.urandom(wire.CLIENT_ID_BYTES)
        self.desk = Desk()
        self.silence_s = address.connect_timeout_s
        self.welcome: dict[str, Any] = {}
        self.handles: WeakValueDictionary[int, Handle] = WeakValueDictionary()
        self._numbers = itertools.count(1)
        self._pid = os.getpid()
        self._settled = threading.Event()  # connected for the first time, or never will be
        self._fatal: Exception | None = None
        self._closing = False
        self._doubts = 0
        self._heard = self._progress = self._next_beat = 0.0
        self._ended = False  # by the server, which has given this client up: connect again
        self._beat_s = 1.0
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._thread = threading.Thread(target=self._run, name="slipring-bridge-link", daemon=True)
        self._thread.start()

    # For the program's threads

    def open(self) -> None:
        """Wait for the first connection."""
        settled = self._settled.wait(self.address.connect_timeout_s)
        try:
            if self._fatal is not None:
                raise self._fatal
            if not settled:
                seconds = self.address.connect_timeout_s
                raise Timeout(
                    f"nobody answers at {self.address} within {seconds:g} s: start `slipring bridge serve` there, or "
                    "wait longer with connect_timeout= in the address",
                    argument="name",
                )
        except BaseException:
            self.close()
            raise

    @property
    def connected(self) -> bool:
        return self.desk.connected

    def number(self) -> int:
        return next(self._numbers)

    @property
    def is_forked(self) -> bool:
        """In a forked child: locks may be held for ever, by threads of the parent."""
        return os.getpid() != self._pid

    def check_process(self) -> None:
        if self.is_forked:
            raise ForkedHandle("this handle belongs to the parent process: open another one here")

    def check(self) -> None:
        """May it be used?"""
        self.check_process()
        if self._closing:
            raise Closed("this bus is closed")
        if self._fatal is not None:
            raise self._fatal

    def request(
        self,
        name: str,
        *,
        owner: Handle | None = None,
        again: bool = True,
        then: Then | None = None,
        timeout_s: float | None = -1.0,
        **content: Any,
    ) -> Any:
        """Ask, and wait for the answer. again: whether it may be asked twice when the connection breaks."""
        number = self.number()
        frames = wire.with_json(wire.REQUEST, number, content={"request": name, **content})
        return self.wait_for(self.ask(Call(number, frames, owner, again, then)), timeout_s).value

    def ask(self, call: Call) -> Call:
        self.check()
        self.desk.ask(call)
        return call

    def wait_for(self, call: Call, timeout_s: float | None = -1.0) -> Call:
        """The answered call, or its error. timeout_s: None for ever, -1 the patience of the address."""
        patience_s = self.address.connect_timeout_s if timeout_s == -1.0 else timeout_s
        try:
            answered = self._answered(call, patience_s)
        finally:
            self.desk.forget(call)
        if not answered:
            if not self.connected:
                raise gone(self.address, f"no connection for {patience_s:g} s")
            raise Timeout(
                f"the bridge at {self.address} did not answer within {patience_s:g} s: give it a larger timeout",
                argument="name",
            )
        if call.error is not None:
            raise call.error
        return call

    def _answered(self, call: Call, patience_s: float | None) -> bool:
        """Patience ends with silence: on a slow link an answer waits for what is under way before it."""
        if patience_s is None:
            return call.done.wait()
        asked, left_s = time.monotonic(), patience_s
        while not call.done.wait(left_s):
            left_s = max(asked, self._progress) + patience_s - time.monotonic()
            if left_s <= 0:
                return False
        return True

    def close(self) -> None:
        if self.is_forked or self._closing:
            return
        self.desk.post(wire.plain(wire.BYE))
        self._closing = True
        self.desk.ring()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self.desk.close()

    # The thread

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        try:
            while not self._closing and self._fatal is None:
                if self._serve_one_connection():
                    pause_s = _FIRST_PAUSE_S
                    if not self._closing and self._fatal is None:
                        log.warning("the connection to %s is lost: connecting again", self.address)
                elif self._fatal is None and not self._closing:
                    self._pause(pause_s)
                    pause_s = min(pause_s * 2, _LAST_PAUSE_S)
        except (SlipringError, OSError, zmq.ZMQError) as error:
            self._fatal = error
        finally:
            if self._fatal is not None:
                log.error("the connection to %s ends: %s", self.address, self._fatal)
            self._context.destroy(0)
            self._end()

    def _pause(self, seconds: float) -> None:
        poller = zmq.Poller()
        poller.register(self.desk.bell, zmq.POLLIN)
        deadline = time.monotonic() + seconds
        while not self._closing and (left := deadline - time.monotonic()) > 0:
            poller.poll(max(1, int(left * 1000)))
            self.desk.quiet()

    def _end(self) -> None:
        error = self._fatal or Closed("this bus is closed")
        self._settled.set()
        for call in self.desk.disconnect():
            call.finish({}, error)
        for handle in list(self.handles.values()):
            handle.on_end(error)

    def _serve_one_connection(self) -> bool:
        """From connecting to the break; whether it was ever greeted."""
        connection = Connection(self._context, self.address)
        greeted = self._ended = False
        silent = 0  # turns; the first one may only show that this process could not listen
        try:
            connection.send(self._hello())
            limit = time.monotonic() + self.address.connect_timeout_s
            while not (self._closing or self._ended or connection.state.is_over) and self._fatal is None:
                self._turn(connection)
                if self.connected:
                    greeted, limit = True, self._heard + self.silence_s
                silent = silent + 1 if time.monotonic() > limit else 0
                if silent > 1:
                    break
            if not self._closing:
                self._judge(connection.state, greeted)
        except wire.Malformed:
            greeted = False  # whoever that is; perhaps the right one comes back
        finally:
            self.desk.disconnect()
            connection.close(200 if self._closing else 0)
            for handle in list(self.handles.values()):
                handle.on_break()
        return greeted

    def _judge(self, state: State, greeted: bool) -> None:
        """Is there hope in another try?"""
        if greeted:
            self._doubts = 0
        elif state is State.DENIED:
            self._fatal = denied(self.address)
        elif state in (State.MISFIT, State.DOUBTFUL) and not self._settled.is_set():
            self._doubts += _DOUBTS if state is State.MISFIT else 1
            if self._doubts >= _DOUBTS:
                self._fatal = denied(self.address)

    def _hello(self) -> wire.Frames:
        content = {"bus": self.address.bus, "pid": os.getpid()}
        return wire.with_json(wire.HELLO, wire.MAGIC, wire.VERSION, self.client, content=content)

    def _turn(self, connection: Connection) -> None:
        timeout_s = max(0.0, self._next_beat - time.monotonic()) if self.connected else 0.1
        connection.wait(self.desk.bell, timeout_s, more_to_send=self.desk.has_letters)
        self.desk.quiet()
        for _ in range(_LETTERS_A_TURN):
            frames = connection.receive()
            if frames is None:
                break
            self._heard = time.monotonic()
            self._take(connection, connection.incoming.take(frames))
        if self.connected and time.monotonic() >= self._next_beat:
            self._next_beat = time.monotonic() + self._beat_s
            connection.send(wire.plain(wire.PING, 0))
        connection.confirm()
        connection.outgoing.flush()
        self.desk.send(connection.outgoing.offer)

    def _take(self, connection: Connection, letter: wire.Letter | None) -> None:
        if letter is None or letter.kind not in (wire.PING, wire.PONG) or letter.numbers[0]:
            self._progress = self._heard
        if letter is None:
            return
        kind, numbers, content = letter
        if kind == wire.PING and numbers[0]:
            connection.confirm(numbers[0])
        elif kind == wire.PONG:
            connection.outgoing.confirm(numbers[0])
        elif kind == wire.ENDED:
            self._ended = True
        elif kind == wire.WELCOME and not self.connected:
            self._start(content)
        elif kind == wire.REFUSED:
            self._fatal = refusals.from_json(content)
        elif kind == wire.REPLY:
            call = self.desk.answered(numbers[0])
            if call is not None:
                call.finish(content)
        elif kind in (wire.BATCH, wire.SYNCED, wire.ATTACHED, wire.FAILED):
            handle = self.handles.get(numbers[0])
            if handle is not None:
                handle.on_letter(letter)

    def _start(self, welcome: dict[str, Any]) -> None:
        """Greeted: open the handles again, then ask again."""
        beat = welcome.get("heartbeat_s")
        self._beat_s = min(60.0, max(0.01, float(beat))) if isinstance(beat, (int, float)) else 1.0
        self.silence_s = self._beat_s * _MISSED_HEARTBEATS
        self._heard = time.monotonic()
        self._next_beat = self._heard + self._beat_s
        self.welcome = welcome
        reopening = [handle.reopening() for _, handle in sorted(self.handles.items())]
        for call in self.desk.connect(reopening):
            call.finish({}, gone(self.address, "it is not known whether that was done"))
        self._settled.set()
        log.info("connected to %s", self.address)
