# SPDX-License-Identifier: Apache-2.0
"""The server's socket: bound, encrypted and guarded as configured, with bounded queues."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from slipring._bus.boot import boot_id
from slipring.errors import BadArgument, SystemFault

from . import address as addresses
from . import keys
from .connections import Connections
from .requirement import zmq
from .transfer import MOST_FRAME_BYTES

if TYPE_CHECKING:
    from slipring._bus.bus import Bus

_DOMAIN = "slipring"
_SEND_QUEUE = 100_000  # messages to one client; what is unconfirmed is bounded far below (transfer.py)
_RECEIVE_QUEUE = 16
_MOST_HANDSHAKES = 64
_TCP_HEARTBEAT_MS = 2_000


def identity_of(bus: Bus) -> str:
    """Boot id (empty if unknown), host name, and the bus directory's device and inode: of this bus and no other."""
    status = os.stat(bus.path)
    return f"{boot_id()}@{socket.gethostname()}:{status.st_dev}:{status.st_ino}"


class Door:
    def __init__(
        self,
        address: str,
        key: str | os.PathLike[str] | None,
        clients: str | os.PathLike[str] | None,
        insecure: bool,
    ) -> None:
        host, port, path, query = addresses.split_endpoint(address.replace("://*:", "://0.0.0.0:"))
        if path or query:
            raise BadArgument(f"address={address!r} of a server is tcp://host:port", argument="address")
        if (key is None) != (clients is None):
            missing = "clients" if clients is None else "key"
            raise BadArgument(
                f"{missing}= is missing: a guarded server has key= and clients=", argument=missing
            )
        addresses.check_insecure(host, key is not None, insecure)
        pair = None if key is None else keys.load_pair(key, "key")
        allowed = None if clients is None else keys.AllowedClients(clients)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._guard: Any = None
        self._socket = self._context.socket(zmq.ROUTER)
        self._configure()
        self.connections = Connections(self._socket)
        try:
            if pair is not None and allowed is not None:
                self._lock(pair, allowed)
            self._socket.ipv6 = ":" in host
            self._socket.bind(f"tcp://{host}:{port or '*'}")
        except zmq.ZMQError as error:
            self.close()
            text = f"cannot listen at {address}: {error.strerror}"
            raise SystemFault(text, argument="address", errno=error.errno or 0) from None
        endpoint: bytes = self._socket.getsockopt(zmq.LAST_ENDPOINT)  # type: ignore[assignment]
        self.endpoint = endpoint.decode().rstrip("\0")
        self.connections.port = int(self.endpoint.rpartition(":")[2])
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self.connections.monitor, zmq.POLLIN)
        self._watched = -1

    def _configure(self) -> None:
        self._socket.linger = 0
        self._socket.router_mandatory = True  # who is gone is told, not passed over
        self._socket.sndhwm, self._socket.rcvhwm = _SEND_QUEUE, _RECEIVE_QUEUE
        self._socket.maxmsgsize = MOST_FRAME_BYTES
        self._socket.backlog = _MOST_HANDSHAKES
        self._socket.handshake_ivl = 5_000
        self._socket.heartbeat_ivl, self._socket.heartbeat_timeout = _TCP_HEARTBEAT_MS, 4 * _TCP_HEARTBEAT_MS

    def _lock(self, pair: tuple[bytes, bytes], allowed: keys.AllowedClients) -> None:
        from zmq.auth.thread import ThreadAuthenticator

        self._guard = ThreadAuthenticator(self._context)
        self._guard.start()
        self._guard.configure_curve_callback(_DOMAIN, allowed)
        self._socket.curve_server = True
        self._socket.curve_publickey, self._socket.curve_secretkey = pair
        self._socket.zap_domain = _DOMAIN.encode()

    def wait(self, descriptor: int, timeout_s: float) -> None:
        """Until somebody says something, comes or goes, the descriptor is readable, or the time is up."""
        if descriptor != self._watched:
            self._watched = descriptor
            self._poller.register(descriptor, zmq.POLLIN)
        self._poller.poll(int(max(0.0, timeout_s) * 1000))

    def receive(self) -> tuple[bytes, list[bytes]] | None:
        """(who, what), or None when there is nothing now."""
        try:
            route = self._socket.recv(zmq.NOBLOCK)
        except zmq.Again:
            return None
        if not self.connections.is_known(route):
            first = self._socket.recv(copy=False)
            self.connections.introduce(route, first)
            frames = [first.bytes]
        else:
            frames = []
        while self._socket.getsockopt(zmq.RCVMORE):
            frames.append(self._socket.recv())
        return route, frames

    def send(self, route: bytes, frames: list[bytes]) -> bool:
        """False: nobody is there any more, or it takes nothing in."""
        try:
            self._socket.send_multipart([route, *frames], zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                return False
            raise
        return True

    def close(self) -> None:
        self.connections.close()
        if self._guard is not None:
            self._guard.stop()
        self._socket.close(0)
        self._context.term()
