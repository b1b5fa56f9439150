# SPDX-License-Identifier: Apache-2.0
"""How long does a small call take: a method of another process with 64 bytes, and its answer?"""

from itertools import pairwise
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.histogram import Histogram
from slipring.bench.processes import ControlLine, Figures, counts, in_two_processes, told_counts
from slipring.bench.transport import Transport, no_moments

TITLE = "A call with 64 B and its answer"
FIGURE = "p50_us"
FURTHER_FIGURES = ("p99_us", "p99.9_us", "max_us")
SIZE = 64
MAIN = ("slipring-calls", "pyzmq-req-rep", "grpc")
OTHERS = ("slipring-calls-raw", "slipring-calls-async")


def cases(quick: bool) -> list[Case]:
    return [Case("calls", name) for name in (MAIN if quick else MAIN + OTHERS)]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    transport = kind(place, SIZE, channels=("calls",))

    def ask(line: ControlLine) -> Figures:
        line.meet()
        call = transport.caller()
        body = bytes(range(SIZE))
        assert call(body) == body
        moments = no_moments(1)
        for count in counts(line, 200, seconds):
            moments = no_moments(count + 1)
            moments[0] = perf_counter_ns()
            for i in range(1, count + 1):
                call(body)
                moments[i] = perf_counter_ns()
        line.meet()
        transport.close()
        trips = Histogram.of(later - earlier for earlier, later in pairwise(moments))
        return {"messages": len(moments) - 1, "histogram": trips.text()}

    def answer(line: ControlLine) -> None:
        transport.serve()
        line.meet()
        for _ in told_counts(line):
            pass
        line.meet()
        transport.close()

    return in_two_processes(ask, answer, apart=not transport.threads_of_its_own)
