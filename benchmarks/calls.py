# SPDX-License-Identifier: Apache-2.0
"""How long does a small call take: a method of another process with 64 bytes, and its answer?"""

from itertools import pairwise
from time import perf_counter_ns

from benchmarks.case import Case
from benchmarks.pair import ControlLine, counts, in_two_processes, told_counts
from benchmarks.round_trip import quantile_us
from benchmarks.transport import Transport

TITLE = "A call with 64 B and its answer"
FIGURE = "p50_us"
FURTHER_FIGURES = ("p99_us", "p99.9_us")
SIZE = 64
MAIN = ("slipring-calls", "pyzmq-req-rep", "grpc")
OTHERS = ("slipring-calls-raw", "slipring-calls-async")


def cases(quick: bool) -> list[Case]:
    return [Case("calls", name) for name in (MAIN if quick else MAIN + OTHERS)]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    transport = kind(place, SIZE, channels=("calls",))

    def ask(line: ControlLine) -> dict[str, float]:
        line.meet()
        call = transport.caller()
        body = bytes(range(SIZE))
        assert call(body) == body
        moments: list[int] = []
        for count in counts(line, 200, seconds):
            moments = [perf_counter_ns()]
            for _ in range(count):
                call(body)
                moments.append(perf_counter_ns())
        line.meet()
        transport.close()
        trips = sorted(later - earlier for earlier, later in pairwise(moments))
        return {
            "p50_us": quantile_us(trips, 0.50),
            "p99_us": quantile_us(trips, 0.99),
            "p99.9_us": quantile_us(trips, 0.999),
            "messages": len(trips),
        }

    def answer(line: ControlLine) -> None:
        transport.serve()
        line.meet()
        for _ in told_counts(line):
            pass
        line.meet()
        transport.close()

    return in_two_processes(ask, answer, apart=not transport.threads_of_its_own)
