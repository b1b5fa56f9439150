# SPDX-License-Identifier: Apache-2.0
"""How many messages a second without a copy, from 64 B to 64 MiB? It should not depend on the size.

Each side touches the first byte: this is the price of handing over, apart from filling and reading.
"""

from slipring.bench.case import Case
from slipring.bench.questions.throughput import measure as messages_a_second
from slipring.bench.transport import Transport

TITLE = "Written and read in place, one message at a time"
FIGURE = "messages_per_s"
SIZES = (64, 4096, 65536, 1 << 20, 64 << 20)


def cases(quick: bool) -> list[Case]:
    sizes = (64, 1 << 20) if quick else SIZES
    names = ("slipring-in-place", "iceoryx2-in-place")
    return [Case("in_place", name, {"size": size}) for size in sizes for name in names]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    figures = messages_a_second(kind, case, place, seconds)
    # No byte was carried, so there is no rate of bytes.
    return {FIGURE: figures[FIGURE], "messages": figures["messages"]}
