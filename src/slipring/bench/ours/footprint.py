# SPDX-License-Identifier: Apache-2.0
"""A topic filled to the last message, for what its files take."""

from pathlib import Path
from typing import Any

import slipring
from slipring.bench.transport import Transport

CAPACITY = 16 << 20


class Footprint(Transport):
    def settings(self) -> dict[str, Any]:
        return {}

    def footprint(self) -> tuple[list[Path], int]:
        self.bus = slipring.Bus("bench", root=self.place)
        publisher = self.bus.publisher("topic", delivery="reliable", **self.settings())
        subscriber = self.bus.subscriber("topic")
        held = 0
        try:
            while True:
                publisher.send(bytes(self.size), timeout=0)
                held += 1
        except slipring.Full:
            pass
        if subscriber.lag != held:
            raise AssertionError(f"{held} sent, {subscriber.lag} there")
        return list((self.place / "bench").iterdir()), held

    def close(self) -> None:
        self.bus.close()


class Smallest(Footprint):
    """Everything is rounded up to the least there is."""

    def settings(self) -> dict[str, Any]:
        return {"capacity": 1, "slots": 1, "max_readers": 1, "max_writers": 1, "max_cursors": 1}


class Fitted(Footprint):
    """As many slots as messages of the size fit in."""

    def settings(self) -> dict[str, Any]:
        return {"capacity": CAPACITY, "slots": CAPACITY // self.size}


TRANSPORTS = {
    "slipring-footprint": Footprint,
    "slipring-footprint-fitted": Fitted,
    "slipring-footprint-smallest": Smallest,
}
