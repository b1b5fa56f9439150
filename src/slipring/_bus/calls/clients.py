# SPDX-License-Identifier: Apache-2.0
"""The clients of a server: met with their first request, forgotten when they are dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipring.errors import SlipringError

from . import leftovers, names
from .callers import Caller

if TYPE_CHECKING:
    from ..bus import Bus
    from .failures import Failures


class Clients:
    def __init__(self, bus: Bus, service: str, failures: Failures) -> None:
        self._bus, self._service, self._failures = bus, service, failures
        self.by_id: dict[str, Caller] = {}

    def meet(self, client: str) -> Caller | None:
        """None if nobody can be answered under this name."""
        if not names.CLIENT_ID.fullmatch(client):
            return None
        try:
            caller = Caller(self._bus, self._service, client, self._failures)
        except SlipringError:
            return None  # it has no reply topic, or not for us
        if not caller.lives():
            caller.close()
            leftovers.remove_all(self._bus, self._service)
            return None
        self.by_id[client] = caller
        return caller

    def all_live(self) -> bool:
        return all(caller.lives() for caller in self.by_id.values())

    def take_dead(self) -> list[Caller]:
        """Those that are dead, and forgotten from now on."""
        dead = [caller for caller in self.by_id.values() if not caller.lives()]
        for caller in dead:
            caller.gone = True
            del self.by_id[caller.client]
        return dead

    def bury(self, dead: list[Caller]) -> None:
        for caller in dead:
            caller.close()
        if dead:
            leftovers.remove_all(self._bus, self._service)

    def stats(self) -> dict[str, int]:
        callers = list(self.by_id.values())
        return {
            "clients": len(callers),
            "open": sum(len(caller.open) for caller in callers),
            "kept": sum(caller.kept for caller in callers),
            "dropped": sum(caller.dropped for caller in callers),
        }

    def close(self) -> None:
        for caller in list(self.by_id.values()):
            caller.close()
        self.by_id.clear()
