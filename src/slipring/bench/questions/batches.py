# SPDX-License-Identifier: Apache-2.0
"""How many messages a second when they are sent and received many at a time: into Arrow, into lists?"""

from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, counts, in_two_processes, told_counts
from slipring.bench.transport import Transport

TITLE = "Throughput, many messages a call"
FIGURE = "messages_per_s"
SIZES = (64, 1024)
PER_SEND = 1000
NAMES = ("slipring-arrow", "slipring-lists", "pyzmq", "pyzmq-default", "pyzmq-multipart", "faster-fifo")


def cases(quick: bool) -> list[Case]:
    sizes = (64,) if quick else SIZES
    names = NAMES[:4] if quick else NAMES
    return [Case("batches", name, {"size": size}) for size in sizes for name in names]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    transport = kind(place, case.settings["size"])

    def receive(line: ControlLine) -> dict[str, float]:
        receive_many = transport.receiver_many("there")
        line.meet()
        line.meet()
        rate, total, calls = 0.0, 0, 0
        for lists in counts(line, 10, seconds):
            left, calls = lists * PER_SEND, 0
            while left > 0:
                left -= receive_many()
                calls += 1
            last = perf_counter_ns()
            first = line.hear()
            if left:
                raise AssertionError(f"received {-left} messages more than were sent")
            total = lists * PER_SEND
            rate = total * 1e9 / (last - first)
        line.meet()
        transport.close()
        return {FIGURE: rate, "messages": total, "messages_per_receive": total / calls}

    def send(line: ControlLine) -> None:
        line.meet()
        send_many = transport.sender_many("there")
        line.meet()
        bodies = [bytes([i % 256]) * case.settings["size"] for i in range(PER_SEND)]
        for lists in told_counts(line):
            first = perf_counter_ns()
            for _ in range(lists):
                send_many(bodies)
            line.tell(first)
        line.meet()
        transport.close()

    return in_two_processes(receive, send, apart=not transport.threads_of_its_own)
