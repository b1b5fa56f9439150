# SPDX-License-Identifier: Apache-2.0
"""How fast does one process keep another up to date? Puts of a small array per second while the other process
takes the newest as fast as it can, and how often that succeeds."""

import time
from itertools import repeat

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, in_two_processes
from slipring.bench.transport import Transport

TITLE = "The newest value: puts per second in front of a reader that never pauses"
FIGURE = "puts_per_s"
FURTHER_FIGURES = ("looks_per_s",)
BLOCK = 500
SIZES = (64, 65536)


def cases(quick: bool) -> list[Case]:
    names = ("slipring-cells", "slipring-cells-in-place", "mp-array")
    return [Case("cells", name, {"size": size}) for size in SIZES for name in names]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    transport = kind(place, case.settings["size"])

    def write(line: ControlLine) -> dict[str, float]:
        put = transport.sender("there")
        body = bytes(case.settings["size"])
        line.meet()
        done, begun = 0, time.monotonic()
        while (spent := time.monotonic() - begun) < seconds:
            for _ in repeat(None, BLOCK):
                put(body)
            done += BLOCK
        line.meet()
        looks = line.hear()
        transport.close()
        return {FIGURE: done / spent, "looks_per_s": looks}

    def read(line: ControlLine) -> None:
        latest = transport.receiver("there")
        line.meet()
        done, begun = 0, time.monotonic()
        while (spent := time.monotonic() - begun) < seconds:
            for _ in repeat(None, BLOCK):
                latest()
            done += BLOCK
        line.meet()
        line.tell(done / spent)
        transport.close()

    return in_two_processes(write, read, apart=True)
