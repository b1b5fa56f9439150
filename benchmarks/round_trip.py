# SPDX-License-Identifier: Apache-2.0
"""How long until an answer is back, with each one's ways of waiting: spinning first, polling, or asleep?"""

from itertools import pairwise

from benchmarks.case import Case
from benchmarks.pair import ControlLine, counts, in_two_processes, told_counts
from benchmarks.transport import Transport

TITLE = "Round trip of 64 B"
FIGURE = "p50_us"
FURTHER_FIGURES = ("p99_us", "p99.9_us")
SIZE = 64
MAIN = ("slipring", "iceoryx2", "slipring-sleeping", "unix-socket", "pyzmq")
OTHERS = ("iceoryx2-event", "mp-pipe", "mp-queue", "faster-fifo", "msgq", "zenoh", "pynng")


def cases(quick: bool) -> list[Case]:
    return [Case("round_trip", name) for name in (MAIN if quick else MAIN + OTHERS)]


def quantile_us(ascending_ns: list[int], share: float) -> float:
    return ascending_ns[min(len(ascending_ns) - 1, int(len(ascending_ns) * share))] / 1000


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    transport = kind(place, SIZE, channels=("there", "back"))

    def ask(line: ControlLine) -> dict[str, float]:
        receive = transport.receiver("back")
        line.meet()
        send = transport.sender("there")
        line.meet()
        body = bytes(range(SIZE))
        moments: list[int] = []
        for count in counts(line, 200, seconds):
            moments = transport.ping(send, receive, body, count)
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
        receive = transport.receiver("there")
        line.meet()
        send = transport.sender("back")
        line.meet()
        for count in told_counts(line):
            transport.echo(receive, send, count)
        line.meet()
        transport.close()

    return in_two_processes(ask, answer, apart=not transport.threads_of_its_own)
