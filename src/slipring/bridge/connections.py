# SPDX-License-Identifier: Apache-2.0
"""The TCP connections of a server's socket: who is there, who is gone, and the end of those that misbehave.

ZeroMQ gives a message to the program when all of it has come, and keeps what has come until then, without a
limit for the number of its frames. So the kernel is asked how many bytes have come through a connection: one
that brings more than any message has, and no message, is ended. ZeroMQ has no call for that; the socket is shut
down beneath it. Its monitor tells the descriptors; each is used through a copy, for a moment, and only if it
is a connection to this server's port, because ZeroMQ may have closed it meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from zmq.utils.monitor import recv_monitor_message

from slipring._bus.logs import logger

from .requirement import zmq

log = logger("bridge")

GREETING_S: Final = 10.0  # from accepting a connection to its first message
_UNREAD_BYTES: Final = 16 << 20  # more than ZeroMQ and the kernel keep of a peer that is read slowly
_FAREWELL_S: Final = 1.0  # for the last words to a peer that is refused
_LOOK_S, _LOOK_AT_NEW_S = 0.25, 0.02
_AT_ONCE: Final = struct.pack("ii", 1, 0)
_BYTES_RECEIVED = struct.Struct("<Q")
_BYTES_RECEIVED_AT: Final = 128  # in struct tcp_info, since Linux 4.1


@dataclass
class _Peer:
    descriptor: int
    since: float
    route: bytes | None = None  # after its first message
    has_spoken: bool = False  # since the last look
    counted: int = 0  # bytes that had come when it had last spoken
    ends: float = float("inf")


class Connections:
    """For the server's thread alone."""

    port = 0  # that the socket is bound to

    def __init__(self, listening: zmq.Socket[bytes]) -> None:
        self._socket = listening
        self.monitor = listening.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._peers: dict[int, _Peer] = {}
        self._routes: dict[bytes, _Peer] = {}
        self._next_look = 0.0

    def patience_s(self, at_most: float) -> float:
        """How long the loop may sleep."""
        return min(at_most, max(0.0, self._next_look - time.monotonic())) if self._peers else at_most

    def lost(self) -> list[bytes]:
        """Whose connections have ended since the last call."""
        routes = []
        while self.monitor.poll(0):
            event = recv_monitor_message(self.monitor)
            descriptor = int(event["value"])
            old = self._peers.pop(descriptor, None)
            if old is not None and old.route is not None:
                self._routes.pop(old.route, None)
                routes.append(old.route)
            if event["event"] == zmq.EVENT_ACCEPTED:
                self._peers[descriptor] = _Peer(descriptor, time.monotonic())
                self._next_look = 0.0
        return routes

    def is_known(self, route: bytes) -> bool:
        """Note that a message came from there; False: `introduce` it."""
        peer = self._routes.get(route)
        if peer is not None:
            peer.has_spoken = True
        return peer is not None

    def introduce(self, route: bytes, frame: zmq.Frame) -> None:
        """The first message of a peer says which connection is its."""
        try:
            peer = self._peers.get(int(frame.get(zmq.SRCFD)))
        except zmq.ZMQError:
            return
        if peer is not None and peer.route is None:
            peer.route, peer.has_spoken = route, True
            self._routes[route] = peer

    def end(self, route: bytes) -> None:
        """End a connection, when its last words are said."""
        peer = self._routes.get(route)
        if peer is not None:
            peer.ends = min(peer.ends, time.monotonic() + _FAREWELL_S)

    def look(self) -> None:
        """End what is to be ended; cheap if it is not yet time to look."""
        now = time.monotonic()
        if now < self._next_look:
            return
        for peer in list(self._peers.values()):
            with self._copy(peer) as copy:
                if copy is not None and (reason := self._reason(peer, copy, now)):
                    self._shut_down(copy, reason)
        fresh = any(peer.route is None for peer in self._peers.values())
        self._next_look = now + (_LOOK_AT_NEW_S if fresh else _LOOK_S)

    @staticmethod
    def _reason(peer: _Peer, copy: socket.socket, now: float) -> str:
        if now >= peer.ends:
            return "it was refused, or is not heard of any more"
        if peer.route is None and now - peer.since > GREETING_S:
            return f"it did not greet within {GREETING_S:g} s"
        facts = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED_AT + 8)
        if len(facts) < _BYTES_RECEIVED_AT + 8:
            return ""
        (received,) = _BYTES_RECEIVED.unpack_from(facts, _BYTES_RECEIVED_AT)
        if peer.has_spoken:
            peer.has_spoken, peer.counted = False, received
        elif received - peer.counted > _UNREAD_BYTES:
            return f"{received - peer.counted} bytes came from it that are no message"
        return ""

    @contextlib.contextmanager
    def _copy(self, peer: _Peer) -> Iterator[socket.socket | None]:
        try:
            copy = socket.socket(fileno=os.dup(peer.descriptor))
        except OSError:  # closed, and its number perhaps used for another thing
            yield None
            return
        with copy:
            try:
                ours = copy.family in (socket.AF_INET, socket.AF_INET6)
                ours = ours and copy.getsockname()[1] == self.port
                yield copy if ours else None
            except OSError as error:
                log.debug("a connection could not be looked at: %s", error)

    def _shut_down(self, copy: socket.socket, reason: str) -> None:
        log.warning("the connection of %s:%s is ended: %s", *copy.getpeername()[:2], reason)
        # ZeroMQ sees the end and closes. With this option that resets the connection: a peer that waits for room to
        # send more would otherwise wait until the kernel forgets it.
        copy.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.disable_monitor()
        self.monitor.close(0)
