# SPDX-License-Identifier: Apache-2.0
"""A client's link to its bridge: one thread that connects, sends, receives, and connects again.

The program's threads put what is to be sent into a queue (request_queue.py) and wait for replies. After a break,
the handles are opened again first, in the order they were made, where they stood. Then calls without a reply are
sent again, except those that must not be done twice.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from abc import abstractmethod
from typing import Any
from weakref import WeakValueDictionary

from slipring._bus.closing import Unpicklable
from slipring._bus.logs import logger
from slipring.errors import Closed, ForkedHandle, SlipringError, Timeout

from .. import error_codec, wire
from ..address import Address
from ..requirement import zmq
from .connection import Connection, State, bridge_gone, handshake_denied
from .request_queue import AfterBreak, Call, RequestQueue, Then

log = logger("bridge")
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.02, 1.0
_MISSED_HEARTBEATS = 4
_FAILED_HANDSHAKES = 2  # that broke, until they count as refused
_MESSAGES_A_TURN = 64


class Handle(Unpicklable):
    """A publisher or subscriber of a remote bus. The link's thread calls these methods."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.handle = link.number()

    @abstractmethod
    def reopening(self) -> Call:
        """Return the request that opens it again on a new connection, sent before all others."""

    def on_message(self, message: wire.Message) -> None:
        """Called when a message for this handle arrives."""

    def on_break(self) -> None:
        """Called when the connection is lost, before another one is tried."""

    def on_end(self, error: Exception) -> None:
        """Called when no other connection will be tried."""


class Link:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.client = os.urandom(wire.CLIENT_ID_BYTES)
        self.queue = RequestQueue()
        self.silence_s = address.connect_timeout_s
        self.welcome: dict[str, Any] = {}
        self.handles: WeakValueDictionary[int, Handle] = WeakValueDictionary()
        self._numbers = itertools.count(1)
        self._pid = os.getpid()
        self._settled = threading.Event()  # connected for the first time, or never will be
        self._fatal: Exception | None = None
        self._closing = False
        self._failed_handshakes = 0
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
        return self.queue.connected

    def number(self) -> int:
        return next(self._numbers)

    @property
    def is_forked(self) -> bool:
        """In a forked child: locks may be held forever, by threads of the parent."""
        return os.getpid() != self._pid

    def check_process(self) -> None:
        if self.is_forked:
            raise ForkedHandle("this handle belongs to the parent process: open another one here")

    def check(self) -> None:
        """Raise if it cannot be used."""
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
        """Send a request, and return the value of the reply. again: whether it may be sent twice when the connection
        breaks."""
        number = self.number()
        frames = wire.with_json(wire.REQUEST, number, content={"request": name, **content})
        call = Call(number, frames, owner, AfterBreak.SEND_AGAIN if again else AfterBreak.FAIL, then)
        self.call(call, timeout_s)
        return call.value

    def call(self, call: Call, timeout_s: float | None = -1.0) -> None:
        """Send a call and wait for its reply; raise its error. timeout_s: None forever, -1 as the address has it."""
        self.check()
        self.queue.put_call(call)
        timeout_s = self.address.connect_timeout_s if timeout_s == -1.0 else timeout_s
        try:
            answered = self._answered(call, timeout_s)
        finally:
            self.queue.forget(call)
        if not answered:
            if not self.connected:
                raise bridge_gone(self.address, f"no connection for {timeout_s:g} s")
            raise Timeout(
                f"the bridge at {self.address} did not answer within {timeout_s:g} s: give it a larger timeout",
                argument="name",
            )
        if call.error is not None:
            raise call.error

    def _answered(self, call: Call, timeout_s: float | None) -> bool:
        """Wait for the reply. Time counts only while no data moves: a reply waits behind earlier messages."""
        if timeout_s is None:
            return call.done.wait()
        since, left_s = time.monotonic(), timeout_s
        while not call.done.wait(left_s):
            left_s = max(since, self._progress) + timeout_s - time.monotonic()
            if left_s <= 0:
                return False
        return True

    # For handles

    def reopening_call(self, request: str, opening: dict[str, Any], then: Then) -> Call:
        number = self.number()
        frames = wire.with_json(wire.REQUEST, number, content={"request": request, **opening})
        return Call(number, frames, None, AfterBreak.DROP, then)

    def leave(self, handle: Handle, request: str, **content: Any) -> None:
        """Close a handle, and wait until the server has done so."""
        self.handles.pop(handle.handle, None)
        try:
            self.request(request, handle=handle.handle, **content)
        except SlipringError:
            return  # the server closes it with the session

    def abandon(self, handle: Handle, request: str, **content: Any) -> None:
        """Close a handle that was collected, without waiting."""
        if not self.is_forked:
            content = {"request": request, "handle": handle.handle, **content}
            self.queue.put_message(wire.with_json(wire.REQUEST, self.number(), content=content))

    def close(self) -> None:
        if self.is_forked or self._closing:
            return
        self.queue.put_message(wire.plain(wire.BYE))
        self._closing = True
        self.queue.ring()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self.queue.close()

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
        poller.register(self.queue.bell, zmq.POLLIN)
        deadline = time.monotonic() + seconds
        while not self._closing and (left := deadline - time.monotonic()) > 0:
            poller.poll(max(1, int(left * 1000)))
            self.queue.clear_bell()

    def _end(self) -> None:
        error = self._fatal or Closed("this bus is closed")
        self._settled.set()
        for call in self.queue.disconnect():
            call.finish({}, error)
        for handle in list(self.handles.values()):
            handle.on_end(error)

    def _serve_one_connection(self) -> bool:
        """From connecting to the break. Return whether the bridge ever answered the hello."""
        connection = Connection(self._context, self.address)
        welcomed = self._ended = False
        silent = 0  # turns; one may only show that this process did not run
        try:
            connection.send(self._hello())
            limit = time.monotonic() + self.address.connect_timeout_s
            while not (self._closing or self._ended or connection.state.is_over) and self._fatal is None:
                self._turn(connection)
                if self.connected:
                    welcomed, limit = True, self._heard + self.silence_s
                silent = silent + 1 if time.monotonic() > limit else 0
                if silent > 1:
                    break
            if not self._closing:
                self._check_end(connection.state, welcomed)
        except wire.Malformed:
            welcomed = False  # this is another program; perhaps the bridge comes back
        finally:
            self.queue.disconnect()
            connection.close(200 if self._closing else 0)
            for handle in list(self.handles.values()):
                handle.on_break()
        return welcomed

    def _check_end(self, state: State, welcomed: bool) -> None:
        """Decide whether another try makes sense."""
        if welcomed:
            self._failed_handshakes = 0
        elif state is State.DENIED:
            self._fatal = handshake_denied(self.address)
        elif state in (State.MISFIT, State.DOUBTFUL) and not self._settled.is_set():
            self._failed_handshakes += _FAILED_HANDSHAKES if state is State.MISFIT else 1
            if self._failed_handshakes >= _FAILED_HANDSHAKES:
                self._fatal = handshake_denied(self.address)

    def _hello(self) -> wire.Frames:
        content = {"bus": self.address.bus, "pid": os.getpid()}
        return wire.with_json(wire.HELLO, wire.MAGIC, wire.VERSION, self.client, content=content)

    def _turn(self, connection: Connection) -> None:
        timeout_s = max(0.0, self._next_beat - time.monotonic()) if self.connected else 0.1
        connection.wait(self.queue.bell, timeout_s, more_to_send=self.queue.has_messages)
        self.queue.clear_bell()
        for _ in range(_MESSAGES_A_TURN):
            frames = connection.receive()
            if frames is None:
                break
            self._heard = time.monotonic()
            self._take(connection, connection.incoming.take(frames))
        if self.connected and time.monotonic() >= self._next_beat:
            self._next_beat = time.monotonic() + self._beat_s
            connection.send(wire.plain(wire.PING, wire.HEARTBEAT))
        connection.confirm()
        connection.outgoing.flush()
        self.queue.send(connection.outgoing.offer)

    def _take(self, connection: Connection, message: wire.Message | None) -> None:
        if message is None:  # a piece
            self._progress = self._heard
            return
        kind, numbers, content = message
        is_heartbeat = kind in (wire.PING, wire.PONG) and numbers[0] == wire.HEARTBEAT
        if not is_heartbeat:
            self._progress = self._heard
        if kind == wire.PING and not is_heartbeat:
            connection.confirm(numbers[0])
        elif kind == wire.PONG:
            connection.outgoing.confirm(numbers[0])
        elif kind == wire.ENDED:
            self._ended = True
        elif kind == wire.WELCOME and not self.connected:
            self._start(content)
        elif kind == wire.REFUSED:
            self._fatal = error_codec.from_json(content)
        elif kind == wire.REPLY:
            call = self.queue.answered(numbers[0])
            if call is not None:
                call.finish(content)
        elif kind in (wire.BATCH, wire.SYNCED, wire.ATTACHED, wire.FAILED):
            handle = self.handles.get(numbers[0])
            if handle is not None:
                handle.on_message(message)

    def _start(self, welcome: dict[str, Any]) -> None:
        """Open the handles again, then send calls again."""
        beat = welcome.get("heartbeat_s")
        self._beat_s = min(60.0, max(0.01, float(beat))) if isinstance(beat, (int, float)) else 1.0
        self.silence_s = self._beat_s * _MISSED_HEARTBEATS
        self._heard = time.monotonic()
        self._next_beat = self._heard + self._beat_s
        self.welcome = welcome
        reopening = [handle.reopening() for _, handle in sorted(self.handles.items())]
        for call in self.queue.connect(reopening):
            call.finish({}, bridge_gone(self.address, "it is not known whether that was done"))
        self._settled.set()
        log.info("connected to %s", self.address)
