# SPDX-License-Identifier: Apache-2.0
"""A remote publisher, on the server's side: an origin, and the publication that waits for room."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from typing import NamedTuple

from slipring.errors import Full, SlipringError, TooLarge

from .. import error_codec, wire
from ..origin_files import Origin


class _Publication(NamedTuple):
    request: int
    records: list[wire.Record]
    deadline: float


class ServerPublisher:
    """Publishes what one remote publisher sends. A full reliable topic makes it wait, and no other publisher."""

    def __init__(self, number: int, origin: Origin, capacity: int) -> None:
        self.number, self.origin = number, origin
        self._capacity = capacity
        self._pending: _Publication | None = None

    @property
    def is_waiting(self) -> bool:
        return self._pending is not None

    def offer(self, request: int, records: list[wire.Record], timeout_s: float) -> None:
        """Accept a publication. It replaces one that waits: the client has given that one up."""
        timeout_s = timeout_s if timeout_s >= 0 else 0.0  # NaN as well
        self._pending = _Publication(request, records, time.monotonic() + timeout_s)

    def advance(self, now: float) -> wire.Frames | None:
        """Publish what there is room for. Return the reply when the publication is done or has failed."""
        if self._pending is None:
            return None
        request, records, deadline = self._pending
        try:
            self._refuse_what_never_fits(records)
            for number, time_ns, lost, _, type, sender, body in records:
                self.origin.send(number, body, type, sender, time_ns, lost)
        except Full as error:
            if now < deadline or math.isinf(deadline):
                return None
            return self._reply(request, error_codec.to_json(error))
        except (SlipringError, OSError, TypeError, ValueError, OverflowError) as error:
            return self._reply(request, error_codec.to_json(error))
        return self._reply(request, {"value": self.place()})

    def _refuse_what_never_fits(self, records: list[wire.Record]) -> None:
        """All or none: a list with one body too large is refused before its first is published."""
        largest = max((len(record.body) for record in records), default=0)
        if largest > self._capacity:
            raise TooLarge(
                f"a body of {largest} bytes needs more than the topic's capacity of {self._capacity}: "
                "create it with a larger capacity=",
                argument="capacity",
            )

    def place(self) -> dict[str, int]:
        return asdict(self.origin.progress)

    def _reply(self, request: int, content: dict[str, object]) -> wire.Frames:
        self._pending = None
        return wire.with_json(wire.REPLY, request, content={**content, "place": self.place()})

    def close(self, forget: bool = False) -> None:
        self.origin.close(forget)
