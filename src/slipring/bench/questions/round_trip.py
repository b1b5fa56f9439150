# SPDX-License-Identifier: Apache-2.0
"""How long until an answer is back, with each one's ways of waiting: spinning first, polling, or asleep?"""

from itertools import pairwise

from slipring.bench.case import Case
from slipring.bench.histogram import Histogram
from slipring.bench.processes import ControlLine, Figures, counts, in_two_processes, told_counts
from slipring.bench.transport import Transport, no_moments

TITLE = "Round trip of 64 B"
FIGURE = "p50_us"
FURTHER_FIGURES = ("p99_us", "p99.9_us", "max_us")
SIZE = 64
MAIN = ("slipring", "slipring-sleeping", "iceoryx2", "unix-socket", "mp-pipe", "mp-queue", "pyzmq")
OTHERS = ("iceoryx2-event", "faster-fifo", "msgq", "zenoh", "pynng")


def cases(quick: bool) -> list[Case]:
    return [Case("round_trip", name) for name in (MAIN if quick else MAIN + OTHERS)]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    return trips(kind(place, SIZE, channels=("there", "back")), seconds)


def trips(transport: Transport, seconds: float) -> Figures:
    def ask(line: ControlLine) -> Figures:
        receive = transport.receiver("back")
        line.meet()
        send = transport.sender("there")
        line.meet()
        body = bytes(range(SIZE))
        moments = no_moments(1)
        for count in counts(line, 200, seconds):
            moments = transport.ping(send, receive, body, count)
        line.meet()
        transport.close()
        times = Histogram.of(later - earlier for earlier, later in pairwise(moments))
        return {"messages": len(moments) - 1, "histogram": times.text()}

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
