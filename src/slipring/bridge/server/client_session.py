# SPDX-License-Identifier: Apache-2.0
"""A client, on the server's side: its publishers and subscriptions, and the connection it has now.

A session outlives its connection for a while, so that a client whose connection broke finds everything as it was.
"""

from __future__ import annotations

import time
from collections import OrderedDict

from slipring._bus.logs import logger
from slipring.errors import BadArgument, Corrupt, Denied, WrongLayout

from .. import wire
from ..transfer import Incoming, Outgoing
from .server_publisher import ServerPublisher
from .server_socket import ServerSocket
from .server_subscription import ServerSubscription

log = logger("bridge")

MOST_HANDLES = 1024
MOST_UNREAD_BYTES = 8 << 20  # of replies that wait for a client to read what was sent before
_PROTOCOL_BYTES = 8 << 20  # of a message of the protocol, beside the bodies in it
_MOST_LOGGED = 4096


class Session:
    def __init__(
        self, client: bytes, socket: ServerSocket, route: bytes, max_message: int, now: float
    ) -> None:
        self.client = client
        self._socket, self._max_message = socket, max_message
        self.gone_since = 0.0
        self.publishers: dict[int, ServerPublisher] = {}
        self.subscriptions: dict[int, ServerSubscription] = {}
        self.behind_reply: list[wire.Frames] = []  # to be sent after the reply that is being made
        self.connect(route, now)

    def connect(self, route: bytes, now: float) -> None:
        """Use this connection from now on. The client asks again for what waited for the last one."""
        self.route, self.heard, self.connected = route, now, True
        self.outgoing = Outgoing(self.send_now)
        self.incoming = Incoming(self._max_message + _PROTOCOL_BYTES)

    def send(self, frames: wire.Frames) -> None:
        """Send in turn, as far as the client has confirmed what was sent before."""
        if self.connected:
            self.outgoing.put(frames)
            self.outgoing.flush()

    def send_now(self, frames: wire.Frames) -> bool:
        """Send before all that waits; False: the client is gone."""
        if self.connected and not self._socket.send(self.route, frames):
            self.connected = False
            self.gone_since = time.monotonic()
        return self.connected

    def reply(self, request: int, content: dict[str, object]) -> None:
        self.send(wire.with_json(wire.REPLY, request, content=content))
        behind, self.behind_reply = self.behind_reply, []
        for frames in behind:
            self.send(frames)

    @property
    def does_not_read(self) -> bool:
        return self.outgoing.replies_bytes > MOST_UNREAD_BYTES

    def new_handle(self, number: int) -> int:
        """Check the number of a handle that is to be opened."""
        if len(self.publishers) + len(self.subscriptions) >= MOST_HANDLES:
            raise BadArgument(f"a client can have at most {MOST_HANDLES} handles", argument="handle")
        return number

    def publisher(self, number: int) -> ServerPublisher:
        if number not in self.publishers:
            raise BadArgument(f"this client has no publisher {number}", argument="handle")
        return self.publishers[number]

    def subscription(self, number: int) -> ServerSubscription:
        if number not in self.subscriptions:
            raise BadArgument(f"this client has no subscription {number}", argument="handle")
        return self.subscriptions[number]


class TopicErrors:
    """Logs what makes a topic unusable, each error once."""

    def __init__(self, bus_name: str) -> None:
        self._bus_name = bus_name
        self._logged: OrderedDict[tuple[str, str], None] = OrderedDict()

    def log(self, topic: str, error: Exception) -> None:
        key = topic, f"{type(error).__name__}: {error}"
        if not isinstance(error, (Corrupt, Denied, OSError, WrongLayout)) or key in self._logged:
            return
        self._logged[key] = None
        if len(self._logged) > _MOST_LOGGED:
            self._logged.popitem(last=False)
        log.warning("topic %r of bus %r cannot be used: %s", topic, self._bus_name, key[1])
