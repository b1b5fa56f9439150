# SPDX-License-Identifier: Apache-2.0
"""How many messages a second go from one Python process to another, one call each, from nothing to 64 MiB?

Timed from the sender's first send to the receiver's last receive, so that neither side's head start counts.
"""

from itertools import repeat
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, counts, in_two_processes, told_counts
from slipring.bench.transport import Transport

TITLE = "Throughput, one message a call"
FIGURE = "messages_per_s"
FURTHER_FIGURES = ("gb_per_s",)
SIZES = (0, 64, 1024, 16384, 65536, 1 << 20, 16 << 20, 64 << 20)
# The others are main rivals' only, to keep the run short; so are the largest, which take long.
ASKED_OF_ALL = (64, 1024, 65536, 1 << 20)
LARGE = 1 << 20
MAIN = ("slipring", "pyzmq", "pyzmq-default", "iceoryx2", "unix-socket", "mp-pipe", "mp-queue")
OTHERS = ("slipring-one-writer", "faster-fifo", "msgq", "zenoh", "pynng", "redis-pub-sub")
IN_BETWEEN = ("slipring", "pyzmq", "iceoryx2", "unix-socket")
# Only in large messages does a new object for each body weigh: it is new memory.
INTO_A_BUFFER = ("slipring-into", "unix-socket-into")
# Neither has messages of any size: iceoryx2's are not empty, a queue of the kernel's not above 8 KiB.
LEAST, MOST = {"iceoryx2": 1}, {"posix-mq": 8192}


def names(size: int, quick: bool) -> tuple[str, ...]:
    asked: tuple[str, ...] = IN_BETWEEN
    if size in ASKED_OF_ALL:
        asked = MAIN if quick else MAIN + OTHERS + ("posix-mq",)
    if size >= LARGE:
        asked += INTO_A_BUFFER
    return tuple(name for name in asked if LEAST.get(name, size) <= size <= MOST.get(name, size))


def cases(quick: bool) -> list[Case]:
    sizes = (64, LARGE) if quick else SIZES
    return [Case("throughput", name, {"size": size}) for size in sizes for name in names(size, quick)]


def first_count(size: int) -> int:
    """Enough to go round every ring once, and what a slow one carries in a fraction of a second."""
    return max(4, min(2000, (32 << 20) // max(size, 1)))


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    size = case.settings["size"]
    transport = kind(place, size)

    def receive(line: ControlLine) -> dict[str, float]:
        recv = transport.receiver("there")
        line.meet()
        line.meet()
        rate, total = 0.0, 0
        for count in counts(line, first_count(size), seconds):
            length = transport.take(recv, count)
            last = perf_counter_ns()
            first = line.hear()
            if length != size:
                raise AssertionError(f"received {length} bytes, not {size}")
            rate, total = count * 1e9 / (last - first), count
        line.meet()
        transport.close()
        return {FIGURE: rate, "gb_per_s": rate * size / 1e9, "messages": total}

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
