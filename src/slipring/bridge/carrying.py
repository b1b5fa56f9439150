# SPDX-License-Identifier: Apache-2.0
"""What a server carries: out, what subscriptions have room for; in, what publishers wait to see published.

One that has room and nothing to send is left to the watch (watch.py), which finds it again when it has.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from slipring.errors import SlipringError

from . import refusals, wire
from .watch import Watch

if TYPE_CHECKING:
    from slipring._bus.bus import Bus

    from .inlet import Inlet
    from .outlet import Outlet
    from .session import Session

_ROOM_LOOK_S = 0.002


class Carrying:
    """For the server's thread alone."""

    def __init__(
        self,
        bus: Bus,
        send: Callable[[Session, wire.Frames], None],
        report: Callable[[str, Exception], None],
        for_client: Callable[[Session], AbstractContextManager[None]],
    ) -> None:
        self._bus, self._send, self._report, self._for_client = bus, send, report, for_client
        self._ready: dict[Outlet, Session] = {}
        self._owners: dict[Outlet, Session] = {}
        self._waiting: dict[Inlet, Session] = {}
        self.watch = Watch()

    def patience_s(self, at_most: float) -> float:
        """How long the loop may sleep."""
        if self._ready:
            return 0.0
        return min(at_most, _ROOM_LOOK_S) if self._waiting else at_most

    def notice(self) -> None:
        """Which idle subscriptions have something now."""
        for outlet in self.watch.fired():
            if outlet in self._owners:
                self._ready[outlet] = self._owners[outlet]

    def turn(self, now: float) -> None:
        for inlet, session in list(self._waiting.items()):
            with self._for_client(session):
                self._advance(inlet, session, now)
        for outlet, session in list(self._ready.items()):
            with self._for_client(session):
                if outlet in self._owners and not self.pump(session, outlet):
                    self._ready.pop(outlet, None)

    # In

    def wait_for_room(self, session: Session, inlet: Inlet) -> None:
        self._waiting[inlet] = session

    def _advance(self, inlet: Inlet, session: Session, now: float) -> None:
        if not session.connected:
            self._waiting.pop(inlet, None)  # the client sends it again when it is back
            return
        answer = inlet.advance(now)
        if not inlet.is_waiting:
            self._waiting.pop(inlet, None)
        if answer is not None:
            self._send(session, answer)

    def give_up(self, session: Session) -> None:
        for inlet in session.inlets.values():
            self._waiting.pop(inlet, None)

    # Out

    def wake(self, session: Session, outlet: Outlet) -> None:
        self._owners[outlet] = session
        self._ready[outlet] = session

    def forget(self, outlet: Outlet) -> None:
        self._ready.pop(outlet, None)
        self._owners.pop(outlet, None)
        self.watch.forget(outlet)

    def pump(self, session: Session, outlet: Outlet, whatever: bool = False) -> bool:
        """Send one batch; False when there is nothing to send or no room for it."""
        if not session.connected:
            return False
        try:
            frames = outlet.read(whatever)
            if outlet.subscriber.attached and not outlet.announced:
                outlet.announced = True
                self._send(session, self._attached(outlet))
        except SlipringError as error:
            self._report(outlet.subscriber.topic, error)
            content = refusals.to_json(error)
            self._send(session, wire.with_json(wire.FAILED, outlet.number, outlet.epoch, content=content))
            session.drop_outlet(outlet.number)
            return False
        if frames is not None:
            self._send(session, frames)
            return True
        if outlet.has_room:
            self.watch.watch(outlet)
        return False

    def tell_failures(self, session: Session, topic: str | None = None) -> None:
        """To those whose window is full, too."""
        for outlet in list(session.outlets.values()):
            if topic in (None, outlet.subscriber.topic) and outlet.has_failed():
                self.pump(session, outlet, whatever=True)

    def _attached(self, outlet: Outlet) -> wire.Frames:
        facts = self._bus.stats(outlet.subscriber.topic)
        content = {"generation": str(facts["generation"]), "reliable": outlet.subscriber.stats()["reliable"]}
        return wire.with_json(wire.ATTACHED, outlet.number, outlet.epoch, content=content)

    def close(self) -> None:
        self.watch.close()
