# SPDX-License-Identifier: Apache-2.0
"""A remote publisher, on the server's side: an origin, and the publication it is waiting to finish."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from slipring.errors import Full, SlipringError, TooLarge

from . import refusals, wire

if TYPE_CHECKING:
    from .ledger import Origin


class _Publication(NamedTuple):
    request: int
    parcels: list[wire.Parcel]
    deadline: float


class Inlet:
    """Publishes what one remote publisher sends; a full reliable topic makes it wait, and nobody else."""

    def __init__(self, number: int, origin: Origin, capacity: int) -> None:
        self.number, self.origin = number, origin
        self._capacity = capacity
        self._pending: _Publication | None = None

    @property
    def is_waiting(self) -> bool:
        return self._pending is not None

    def offer(self, request: int, parcels: list[wire.Parcel], patience_s: float) -> None:
        """Take a publication on; one that the client gave up is forgotten."""
        patience_s = patience_s if patience_s >= 0 else 0.0  # NaN as well
        self._pending = _Publication(request, parcels, time.monotonic() + patience_s)

    def advance(self, now: float) -> wire.Frames | None:
        """Publish what there is room for; the answer, when there is one."""
        if self._pending is None:
            return None
        request, parcels, deadline = self._pending
        try:
            self._refuse_what_never_fits(parcels)
            for parcel in parcels:
                self._send(parcel)
        except Full as error:
            if now < deadline or math.isinf(deadline):
                return None
            return self._answer(request, refusals.to_json(error))
        except (SlipringError, OSError, TypeError, ValueError, OverflowError) as error:
            return self._answer(request, refusals.to_json(error))
        return self._answer(request, {"value": self.place()})

    def _send(self, parcel: wire.Parcel) -> None:
        number, time_ns, lost, _, type, sender, body = parcel
        self.origin.send(number, body, type, sender, time_ns, lost)

    def _refuse_what_never_fits(self, parcels: list[wire.Parcel]) -> None:
        """All or none: a list with one message too large is refused before its first is published."""
        largest = max(parcels, key=lambda parcel: len(parcel.body), default=None)
        if largest is not None and len(largest.body) > self._capacity:
            raise TooLarge(
                f"a body of {len(largest.body)} bytes needs more than the topic's capacity of "
                f"{self._capacity}: create it with a larger capacity=",
                argument="capacity",
            )

    def place(self) -> dict[str, int]:
        return asdict(self.origin.place)

    def _answer(self, request: int, content: dict[str, object]) -> wire.Frames:
        self._pending = None
        return wire.with_json(wire.REPLY, request, content={**content, "place": self.place()})

    def close(self, forget: bool = False) -> None:
        self.origin.close(forget)
