# SPDX-License-Identifier: Apache-2.0
"""How many messages a second go from one Python process to another, one call each, for four sizes?

Timed from the sender's first send to the receiver's last receive, so that neither side's head start counts.
"""

from itertools import repeat
from time import perf_counter_ns

from benchmarks.case import Case
from benchmarks.pair import ControlLine, counts, in_two_processes, told_counts
from benchmarks.transport import Transport

TITLE = "Throughput, one message a call"
FIGURE = "messages_per_s"
SIZES = (64, 1024, 65536, 1 << 20)
FIRST_COUNT = {64: 2000, 1024: 2000, 65536: 200, 1 << 20: 32}
MAIN = ("slipring", "pyzmq", "pyzmq-default", "iceoryx2", "unix-socket")
OTHERS = ("slipring-one-writer", "mp-pipe", "mp-queue", "faster-fifo", "msgq", "zenoh", "pynng")


def cases(quick: bool) -> list[Case]:
    sizes = (64, 65536) if quick else SIZES
    names = MAIN if quick else MAIN + OTHERS
    return [Case("throughput", name, {"size": size}) for size in sizes for name in names]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    size = case.settings["size"]
    transport = kind(place, size)

    def receive(line: ControlLine) -> dict[str, float]:
        recv = transport.receiver("there")
        line.meet()
        line.meet()
        rate, total = 0.0, 0
        for count in counts(line, FIRST_COUNT[size], seconds):
            body = transport.take(recv, count)
            last = perf_counter_ns()
            first = line.hear()
            if len(body) != size:
                raise AssertionError(f"received {len(body)} bytes, not {size}")
            rate, total = count * 1e9 / (last - first), count
        line.meet()
        transport.close()
        return {FIGURE: rate, "messages": total}

    def send(line: ControlLine) -> None:
        line.meet()
        send_one = transport.sender("there")
        line.meet()
        body = bytes(range(256)) * (size // 256) if size >= 256 else bytes(range(size))
        for count in told_counts(line):
            first = perf_counter_ns()
            for _ in repeat(None, count):
                send_one(body)
            line.tell(first)
        line.meet()
        transport.close()

    return in_two_processes(receive, send, apart=not transport.threads_of_its_own)
