# SPDX-License-Identifier: Apache-2.0
"""A client, on the server's side: its publishers and subscriptions, and the connection it speaks through now.

A session outlives its connection by a while, so that a client whose connection broke finds everything as it
was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from slipring.errors import BadArgument, SlipringError

from . import refusals, requests, wire

if TYPE_CHECKING:
    from slipring._bus.bus import Bus

    from .inlet import Inlet
    from .outlet import Outlet, Window
    from .server import Server

_EVICTIONS = 10
_EVICTION_PAUSE_S = 0.005
Made = TypeVar("Made")


class Session:
    def __init__(self, server: Server, client: bytes, route: bytes, now: float) -> None:
        self._server = server
        self.client, self.route = client, route
        self.heard, self.gone_since = now, 0.0
        self.connected = True
        self.inlets: dict[int, Inlet] = {}
        self.outlets: dict[int, Outlet] = {}
        self._resent: list[wire.Frames] = []

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
        self.heard = now
        kind, numbers, content = letter
        if kind == wire.PUBLISH:
            request, number, patience_s = numbers
            self._publish(request, number, patience_s, content, now)
        elif kind == wire.ACK:
            self._acknowledge(*numbers)
        elif kind == wire.SYNC:
            self._sync(*numbers)
        elif kind == wire.REQUEST:
            self._answer(numbers[0], content)
        elif kind == wire.PING:
            self.send(wire.plain(wire.PONG, *numbers))
        elif kind != wire.BYE:
            raise wire.Malformed(f"kind {kind!r} from a client")

    def send(self, frames: wire.Frames) -> None:
        self._server.send(self, frames)

    def _answer(self, number: int, content: dict[str, object]) -> None:
        request = requests.REQUESTS.get(str(content.get("request")))
        try:
            if request is None:
                raise BadArgument(f"there is no request {content.get('request')!r}", argument="request")
            reply = {"value": request(self, content)}
        except (SlipringError, OSError, TypeError, ValueError, OverflowError) as error:
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
        while outlet is not None and self._server.carrying.pump(self, outlet, whatever=outlet.conflate):
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
            outlet.close()

    def tell_gone(self, topic: str) -> None:
        """Its subscribers hear of a removed topic before whoever removed it has the answer."""
        self._server.tell_gone(topic)

    def wake(self, outlet: Outlet) -> None:
        self._server.carrying.wake(self, outlet)

    def resend(self, frames: list[wire.Frames]) -> None:
        """Behind the answer that is being made."""
        self._resent = frames

    def evicting(self, make: Callable[[], Made]) -> Made:
        """What somebody has whose connection is gone is taken from them for one who is here."""
        for _ in range(_EVICTIONS):
            try:
                return make()
            except requests.BUSY_WITH_THE_GONE:
                if not self._server.has_others(self):
                    raise
                if not self._server.drop_unreachable(self):
                    time.sleep(_EVICTION_PAUSE_S)
        return make()

    def close(self) -> None:
        for number in list(self.outlets):
            self.drop_outlet(number)
        for inlet in self.inlets.values():
            inlet.close()
        self.inlets.clear()
