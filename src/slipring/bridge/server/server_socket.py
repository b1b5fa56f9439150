# SPDX-License-Identifier: Apache-2.0
"""The server's socket: bound, encrypted and guarded as configured, with bounded queues.

ZeroMQ gives a message to the program when all of it has come, and keeps what has come until then, without a limit
for the number of its frames. So `_Connections` asks the kernel how many bytes have come through a connection. One
that brings more than any message has, and no message, is ended. ZeroMQ has no call for that; the TCP socket is shut
down beneath it. The monitor of the ZeroMQ socket reports the descriptors. Each is used through a copy, for a moment,
and only if it is a connection to this server's port, because ZeroMQ may have closed it meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from zmq.utils.monitor import recv_monitor_message

from slipring._bus.logs import logger
from slipring.errors import BadArgument, SystemFault

from .. import address as addresses
from .. import keys
from ..requirement import zmq
from ..transfer import MOST_FRAME_BYTES

log = logger("bridge")

_DOMAIN = "slipring"
_SEND_QUEUE = 100_000  # messages to one client; what is unconfirmed is bounded far below (transfer.py)
_RECEIVE_QUEUE = 16
_MOST_HANDSHAKES = 64
_TCP_HEARTBEAT_MS = 2_000

_HELLO_S: Final = 10.0  # from accepting a connection to its first message
_UNREAD_BYTES: Final = 16 << 20  # more than ZeroMQ and the kernel keep of a peer that is read slowly
_LAST_MESSAGE_S: Final = 1.0  # for the last message to a peer that is refused
_CHECK_S, _CHECK_NEW_S = 0.25, 0.02
_RESET: Final = struct.pack("ii", 1, 0)
_BYTES_RECEIVED = struct.Struct("<Q")
_BYTES_RECEIVED_AT: Final = 128  # in struct tcp_info, since Linux 4.1


class ServerSocket:
    def __init__(
        self,
        address: str,
        key: str | os.PathLike[str] | None,
        clients: str | os.PathLike[str] | None,
        insecure: bool,
    ) -> None:
        host, port, path, query = addresses.split_endpoint(address.replace("://*:", "://0.0.0.0:"))
        if path or query:
            raise BadArgument(
                f"address={address!r} of a server must be tcp://HOST:PORT, without {path or query!r}",
                argument="address",
            )
        if (key is None) != (clients is None):
            missing = "clients" if clients is None else "key"
            raise BadArgument(
                f"{missing}= is missing: a server with keys needs both key= and clients=", argument=missing
            )
        addresses.check_insecure(host, key is not None, insecure)
        pair = None if key is None else keys.load_pair(key, "key")
        allowed = None if clients is None else keys.AllowedClients(clients)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._authenticator: Any = None
        self._socket = self._context.socket(zmq.ROUTER)
        self._configure()
        self._connections = _Connections(self._socket)
        try:
            if pair is not None and allowed is not None:
                self._require_keys(pair, allowed)
            self._socket.ipv6 = ":" in host
            self._socket.bind(f"tcp://{host}:{port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            text = f"cannot listen at {address}: {error.strerror}"
            raise SystemFault(text, argument="address", errno=error.errno or 0) from None
        endpoint: bytes = self._socket.getsockopt(zmq.LAST_ENDPOINT)  # type: ignore[assignment]
        self.endpoint = endpoint.decode().rstrip("\0")
        self._connections.port = int(self.endpoint.rpartition(":")[2])
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._connections.monitor, zmq.POLLIN)
        self._watched = -1

    def _configure(self) -> None:
        self._socket.linger = 0
        self._socket.router_mandatory = True  # sending to a peer that is gone is an error, not passed over
        self._socket.sndhwm, self._socket.rcvhwm = _SEND_QUEUE, _RECEIVE_QUEUE
        self._socket.maxmsgsize = MOST_FRAME_BYTES
        self._socket.backlog = _MOST_HANDSHAKES
        self._socket.handshake_ivl = 5_000
        self._socket.heartbeat_ivl, self._socket.heartbeat_timeout = _TCP_HEARTBEAT_MS, 4 * _TCP_HEARTBEAT_MS

    def _require_keys(self, pair: tuple[bytes, bytes], allowed: keys.AllowedClients) -> None:
        from zmq.auth.thread import ThreadAuthenticator

        self._authenticator = ThreadAuthenticator(self._context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(_DOMAIN, allowed)
        self._socket.curve_server = True
        self._socket.curve_publickey, self._socket.curve_secretkey = pair
        self._socket.zap_domain = _DOMAIN.encode()

    def wait(self, descriptor: int, timeout_s: float) -> None:
        """Wait until a message or a change of connections arrives, the descriptor is readable, or the time is up."""
        if descriptor != self._watched:
            self._watched = descriptor
            self._poller.register(descriptor, zmq.POLLIN)
        timeout_s = self._connections.timeout_s(timeout_s)
        self._poller.poll(int(max(0.0, timeout_s) * 1000))

    def receive(self) -> tuple[bytes, list[bytes]] | None:
        """Return the route of a peer and the frames of its message, or None when there is nothing now."""
        try:
            route = self._socket.recv(zmq.NOBLOCK)
        except zmq.Again:
            return None
        if not self._connections.is_known(route):
            first = self._socket.recv(copy=False)
            self._connections.identify(route, first)
            frames = [first.bytes]
        else:
            frames = []
        while self._socket.getsockopt(zmq.RCVMORE):
            frames.append(self._socket.recv())
        return route, frames

    def send(self, route: bytes, frames: list[bytes]) -> bool:
        """Send at once. False: the peer is gone, or its queue is full."""
        try:
            self._socket.send_multipart([route, *frames], zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                return False
            raise
        return True

    def disconnected(self) -> list[bytes]:
        """Return the routes whose connections have ended since the last call."""
        return self._connections.disconnected()

    def end(self, route: bytes) -> None:
        """End a connection, a moment later: what was sent last may still arrive."""
        self._connections.end(route)

    def check_connections(self) -> None:
        """End connections that are refused, silent or flooding; cheap if it is not yet time to check."""
        self._connections.check()

    def close(self) -> None:
        self._connections.close()
        if self._authenticator is not None:
            self._authenticator.stop()
        self._socket.close(0)
        self._context.term()


@dataclass
class _Peer:
    descriptor: int
    since: float
    route: bytes | None = None  # after its first message
    has_sent: bool = False  # a message, since the last check
    counted: int = 0  # bytes received from it at its last message
    ends: float = float("inf")


class _Connections:
    """The TCP connections of the socket. Connections of misbehaving peers are ended."""

    port = 0  # that the socket is bound to

    def __init__(self, listening: zmq.Socket[bytes]) -> None:
        self._socket = listening
        self.monitor = listening.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._peers: dict[int, _Peer] = {}
        self._routes: dict[bytes, _Peer] = {}
        self._next_check = 0.0

    def timeout_s(self, at_most: float) -> float:
        """Return how long may pass until the next check."""
        return min(at_most, max(0.0, self._next_check - time.monotonic())) if self._peers else at_most

    def disconnected(self) -> list[bytes]:
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
                self._next_check = 0.0
        return routes

    def is_known(self, route: bytes) -> bool:
        """Note that a message came by this route. False: `identify` its connection."""
        peer = self._routes.get(route)
        if peer is not None:
            peer.has_sent = True
        return peer is not None

    def identify(self, route: bytes, frame: zmq.Frame) -> None:
        """Find the connection that the first message of a peer came through."""
        try:
            peer = self._peers.get(int(frame.get(zmq.SRCFD)))
        except zmq.ZMQError:
            return
        if peer is not None and peer.route is None:
            peer.route, peer.has_sent = route, True
            self._routes[route] = peer

    def end(self, route: bytes) -> None:
        peer = self._routes.get(route)
        if peer is not None:
            peer.ends = min(peer.ends, time.monotonic() + _LAST_MESSAGE_S)

    def check(self) -> None:
        now = time.monotonic()
        if now < self._next_check:
            return
        for peer in list(self._peers.values()):
            with self._copy(peer) as copy:
                if copy is not None and (reason := self._reason_to_end(peer, copy, now)):
                    self._shut_down(copy, reason)
        has_new = any(peer.route is None for peer in self._peers.values())
        self._next_check = now + (_CHECK_NEW_S if has_new else _CHECK_S)

    @staticmethod
    def _reason_to_end(peer: _Peer, copy: socket.socket, now: float) -> str:
        if now >= peer.ends:
            return "it was refused, or nothing was heard of it any more"
        if peer.route is None and now - peer.since > _HELLO_S:
            return f"it sent no message within {_HELLO_S:g} s"
        info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED_AT + 8)
        if len(info) < _BYTES_RECEIVED_AT + 8:
            return ""
        (received,) = _BYTES_RECEIVED.unpack_from(info, _BYTES_RECEIVED_AT)
        if peer.has_sent:
            peer.has_sent, peer.counted = False, received
        elif received - peer.counted > _UNREAD_BYTES:
            return f"{received - peer.counted} bytes came from it that are not a message"
        return ""

    @contextlib.contextmanager
    def _copy(self, peer: _Peer) -> Iterator[socket.socket | None]:
        try:
            copy = socket.socket(fileno=os.dup(peer.descriptor))
        except OSError:  # closed, and its number perhaps used for something else
            yield None
            return
        with copy:
            try:
                ours = copy.family in (socket.AF_INET, socket.AF_INET6)
                ours = ours and copy.getsockname()[1] == self.port
                yield copy if ours else None
            except OSError as error:
                log.debug("a connection could not be checked: %s", error)

    def _shut_down(self, copy: socket.socket, reason: str) -> None:
        log.warning("the connection of %s:%s is ended: %s", *copy.getpeername()[:2], reason)
        # ZeroMQ sees the end and closes. With this option that resets the connection: a peer that waits for room to
        # send more would otherwise wait until the kernel forgets it.
        copy.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.disable_monitor()
        self.monitor.close(0)
