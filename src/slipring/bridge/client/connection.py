# SPDX-License-Identifier: Apache-2.0
"""One connection of a client to its bridge, from the first packet to the break; never repaired, only replaced.

ZeroMQ would reconnect by itself and hand over what was queued for the old connection. What has to be sent again
is decided by sequences and numbers instead. The socket's monitor reports how a connection failed: nobody listens,
or the handshake was refused.
"""

from __future__ import annotations

from enum import Enum

from zmq.utils.monitor import recv_monitor_message

from slipring.errors import Denied, PeerGone

from .. import keys, wire
from ..address import Address
from ..requirement import zmq
from ..transfer import MOST_FRAME_BYTES, Incoming, Outgoing

_EVENTS = (
    zmq.EVENT_CLOSED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_CONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
_HEARTBEAT_MS = 2_000
_MOST_MESSAGE_BYTES = 4 << 30


class State(Enum):
    TRYING = "trying"
    SHAKING = "shaking"  # connected, the handshake is not done
    OPEN = "open"
    ABSENT = "absent"  # nobody listens
    DENIED = "denied"  # the handshake was refused
    MISFIT = "misfit"  # the other side uses another protocol
    DOUBTFUL = "doubtful"  # it broke during the handshake
    BROKEN = "broken"

    @property
    def is_over(self) -> bool:
        return self not in (State.TRYING, State.SHAKING, State.OPEN)


class Connection:
    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], address: Address) -> None:
        self.state = State.TRYING
        self.outgoing, self.incoming = Outgoing(self.send), Incoming(_MOST_MESSAGE_BYTES)
        self._to_confirm: int | None = None
        pair = None if address.key is None else keys.load_pair(address.key, "key")
        server = None if address.server_key is None else keys.load_public(address.server_key, "server_key")
        self._socket = context.socket(zmq.DEALER)
        self._configure(address)
        if pair is not None and server is not None:
            self._socket.curve_publickey, self._socket.curve_secretkey = pair
            self._socket.curve_serverkey = server
        self._monitor = self._socket.get_monitor_socket(_EVENTS)
        self._poller = zmq.Poller()
        self._poller.register(self._monitor, zmq.POLLIN)
        self._poller.register(self._socket, zmq.POLLIN)
        self._watched: int | None = None
        try:
            self._socket.connect(address.endpoint)
        except zmq.ZMQError:  # a host without an address
            self.state = State.ABSENT

    def _configure(self, address: Address) -> None:
        socket = self._socket
        socket.linger = 0
        socket.reconnect_ivl = -1
        socket.handshake_ivl = max(1, int(address.connect_timeout_s * 1000))
        socket.connect_timeout = max(1, int(address.connect_timeout_s * 1000))
        socket.heartbeat_ivl, socket.heartbeat_timeout = _HEARTBEAT_MS, 4 * _HEARTBEAT_MS
        socket.maxmsgsize = MOST_FRAME_BYTES
        socket.ipv6 = True

    def wait(self, descriptor: int, timeout_s: float, more_to_send: bool) -> None:
        """Wait until something happens here, the descriptor is readable, or the time is up."""
        if self._watched is None:
            self._watched = descriptor
            self._poller.register(descriptor, zmq.POLLIN)
        waiting = more_to_send or not self.outgoing.is_idle
        to_send = (waiting and self.outgoing.may_send) or self._to_confirm is not None
        self._poller.modify(self._socket, zmq.POLLIN | zmq.POLLOUT if to_send else zmq.POLLIN)
        self._poller.poll(int(max(0.0, timeout_s) * 1000))
        while not self.state.is_over and self._monitor.poll(0):
            self._happened(recv_monitor_message(self._monitor)["event"])

    def _happened(self, event: int) -> None:
        if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            self.state = State.DENIED
        elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            self.state = State.MISFIT
        elif event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            self.state = State.DOUBTFUL
        elif event == zmq.EVENT_CONNECTED:
            self.state = State.SHAKING
        elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self.state = State.OPEN
        elif event in (zmq.EVENT_DISCONNECTED, zmq.EVENT_CLOSED):
            ends = {State.TRYING: State.ABSENT, State.SHAKING: State.DOUBTFUL}
            self.state = ends.get(self.state, State.BROKEN)

    def receive(self) -> list[bytes] | None:
        """Return the frames of a message, or None when there is none now."""
        try:
            return self._socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None

    def send(self, frames: wire.Frames) -> bool:
        """Send at once, before all that waits. False: not now."""
        try:
            self._socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def confirm(self, number: int | None = None) -> None:
        """Confirm how much has come from the bridge: now, or as soon as that can be sent."""
        self._to_confirm = self._to_confirm if number is None else number
        if self._to_confirm is not None and self.send(wire.plain(wire.PONG, self._to_confirm)):
            self._to_confirm = None

    def close(self, linger_ms: int = 0) -> None:
        self._socket.disable_monitor()
        self._monitor.close(0)
        self._socket.close(linger_ms)


def handshake_denied(address: Address) -> Denied:
    how = f"with key={address.key}" if address.key else "without a key"
    return Denied(
        f"the bridge at {address} refused the handshake {how}: the server's key is another one, "
        "this client's public key is not among those it allows, or only one of the two uses keys",
        argument="key",
    )


def bridge_gone(address: Address, what: str) -> PeerGone:
    return PeerGone(
        f"the bridge at {address} is gone: {what}; start it, or check the address", argument="name"
    )
