# SPDX-License-Identifier: Apache-2.0
"""A client, on the server's side: its publishers and subscriptions, and the connection it speaks through now.

A session outlives its connection by a while, so that a client whose connection broke finds everything as it
was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipring._bus.logs import logger
from slipring.errors import BadArgument, SlipringError

from . import refusals, requests, wire
from .transfer import Incoming, Outgoing

if TYPE_CHECKING:
    from slipring._bus.bus import Bus

    from .inlet import Inlet
    from .outlet import Outlet, Window
    from .server import Server

log = logger("bridge")

MOST_UNREAD_BYTES = 8 << 20  # of replies that wait for a client to read what was sent before
_LETTER_BYTES = 8 << 20  # of a message of the protocol, beside the bodies in it


class Session:
    def __init__(self, server: Server, client: bytes, route: bytes, now: float) -> None:
        self._server = server
        self.client = client
        self.gone_since = 0.0
        self.inlets: dict[int, Inlet] = {}
        self.outlets: dict[int, Outlet] = {}
        self._resent: list[wire.Frames] = []
        self.connect(route, now)

    def connect(self, route: bytes, now: float) -> None:
        """From now on it speaks through this connection; what waited for the last one is asked for again."""
        self.route, self.heard, self.connected = route, now, True
        self.outgoing = Outgoing(lambda frames: self._server.send_now(self, frames))
        self.incoming = Incoming(self._server.max_message + _LETTER_BYTES)

    @property
    def does_not_read(self) -> bool:
        return self.outgoing.replies_bytes > MOST_UNREAD_BYTES

    @property
    def bus(self) -> Bus:
        return self._server.bus

    @property
    def directory(self) -> str:
        return self._server.directory

    @property
    def window(self) -> Window:
        return self._server.window

    def receive(self, letter: wire.Letter, now: float) -> None:
        """Do what the client asks; raises Malformed for what only a server may say."""
        kind, numbers, content = letter
        if kind == wire.PUBLISH:
            request, number, patience_s = numbers
            self._publish(request, number, patience_s, content, now)
        elif kind == wire.ACK:
            self._acknowledge(*numbers)
        elif kind == wire.SYNC:
            self._sync(*numbers)
        elif kind == wire.REQUEST:
            self.answer(numbers[0], content)
        elif kind == wire.PING:
            self._server.send_now(self, wire.plain(wire.PONG, *numbers))
        elif kind == wire.PONG:
            self.outgoing.confirm(numbers[0])
            self._server.flush(self)
        elif kind != wire.BYE:
            raise wire.Malformed(f"kind {kind!r} from a client")

    def send(self, frames: wire.Frames) -> None:
        self._server.send(self, frames)

    def answer(self, number: int, content: dict[str, object], until: float | None = None) -> None:
        """Do what is asked, or have it tried again: what another client has may be free in a moment, if that
        client is gone. until: when that ends."""
        name = str(content.get("request"))
        request = requests.REQUESTS.get(name)
        try:
            if request is None:
                raise BadArgument(f"there is no request {name!r}", argument="request")
            reply = {"value": request(self, content)}
        except (SlipringError, OSError, TypeError, ValueError, OverflowError) as error:
            taken = isinstance(error, requests.TAKEN) and name in requests.TRIED_AGAIN
            if taken and self._server.postpone(self, number, content, until):
                return
            self._server.report(str(content.get("topic", "")), error)
            reply = refusals.to_json(error)
        self.send(wire.with_json(wire.REPLY, number, content=reply))
        resent, self._resent = self._resent, []
        for frames in resent:
            self.send(frames)

    def _publish(
        self, request: int, number: int, patience_s: float, parcels: list[wire.Parcel], now: float
    ) -> None:
        inlet = self.inlets.get(number)
        if inlet is None:
            error = BadArgument(f"there is no publisher {number}", argument="handle")
            self.send(wire.with_json(wire.REPLY, request, content=refusals.to_json(error)))
            return
        inlet.offer(request, parcels, patience_s)
        answer = inlet.advance(now)
        if answer is not None:
            self.send(answer)
        else:
            self._server.carrying.wait_for_room(self, inlet)

    def _acknowledge(self, number: int, epoch: int, position: int) -> None:
        outlet = self.outlets.get(number)
        if outlet is not None:
            outlet.acknowledge(epoch, position)
            self.wake(outlet)

    def _sync(self, number: int, epoch: int, token: int) -> None:
        """Send everything there is, as far as there is room, and say so."""
        outlet = self.outlets.get(number)
        while outlet is not None and self._server.carrying.pump(self, outlet, whatever=outlet.may_exceed):
            if outlet.conflate:
                break
        self.send(wire.plain(wire.SYNCED, number, epoch, token))

    # Handles, for requests

    def inlet(self, number: int) -> Inlet:
        if number not in self.inlets:
            raise BadArgument(f"there is no publisher {number}", argument="handle")
        return self.inlets[number]

    def outlet(self, number: int) -> Outlet:
        if number not in self.outlets:
            raise BadArgument(f"there is no subscription {number}", argument="handle")
        return self.outlets[number]

    def add_outlet(self, outlet: Outlet) -> None:
        self.outlets[outlet.number] = outlet
        self.wake(outlet)

    def drop_outlet(self, number: int) -> None:
        outlet = self.outlets.pop(number, None)
        if outlet is not None:
            self._server.carrying.forget(outlet)
            try:
                outlet.close()
            except (SlipringError, OSError) as error:
                log.warning(
                    "a subscriber of topic %r could not be closed: %s", outlet.subscriber.topic, error
                )

    def tell_gone(self, topic: str) -> None:
        """Its subscribers hear of a removed topic before whoever removed it has the answer."""
        self._server.tell_gone(topic)

    def wake(self, outlet: Outlet) -> None:
        self._server.carrying.wake(self, outlet)

    def resend(self, frames: list[wire.Frames]) -> None:
        """Behind the answer that is being made."""
        self._resent = frames

    def cancel(self, handle: int) -> None:
        """A handle that is still to be opened is not wanted any more."""
        self._server.cancel(self, handle)

    def close(self) -> None:
        for number in list(self.outlets):
            self.drop_outlet(number)
        for inlet in self.inlets.values():
            try:
                inlet.close()
            except (SlipringError, OSError) as error:
                log.warning("a publisher of topic %r could not be closed: %s", inlet.origin.topic, error)
        self.inlets.clear()
