# SPDX-License-Identifier: Apache-2.0
"""What do typed topics cost? Values a second between two processes, and the cost of a send and a receive in one.

Messages have 64 B: bytes, an object as msgpack, a record of 8 doubles. ``slipring-by-hand`` encodes and decodes by
msgspec on an untyped topic: msgspec alone and the untyped cost together. In one process a hundred messages, or ten
thousand of columns, are sent and then received. So the figure is the sum of both sides, and does not depend on the
distance of two processors.
"""

import time
from statistics import median
from time import perf_counter_ns

from benchmarks import typed_values
from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, counts, in_two_processes, told_counts

TITLE = "Typed topics: values of 64 B, the receiver reads a field of each"
FIGURE = "messages_per_s"
FURTHER_FIGURES = ("ns_per_message",)
NEEDS = ("msgspec", "numpy", "pyarrow")
OBJECTS = ("dataclass", "struct")
# of messages, the transports that carry them between two processes; and in one
BETWEEN = {
    "bytes": ("slipring-values", "slipring-columns", "pyzmq-values"),
    **dict.fromkeys(OBJECTS, ("slipring-values", "slipring-by-hand", "pyzmq-values")),
    "doubles": (
        "slipring-values",
        "slipring-loans",
        "slipring-columns",
        "pyzmq-values",
        "pyzmq-arrays",
        "iceoryx2-ctypes",
    ),
}
WITHIN = {
    "bytes": ("slipring-values", "slipring-columns"),
    **dict.fromkeys(OBJECTS, ("slipring-values", "slipring-by-hand", "msgspec")),
    "doubles": ("slipring-values", "slipring-loans", "slipring-columns"),
}


def cases(quick: bool) -> list[Case]:
    asked = [(2, BETWEEN), (1, WITHIN)]
    messages = ("bytes", "dataclass", "doubles") if quick else tuple(BETWEEN)
    return [
        Case("typed", name, {"message": message, "processes": processes})
        for processes, transports in asked
        for message in messages
        for name in transports[message]
    ]


def measure(kind: type[typed_values.ValueTransport], case: Case, place, seconds: float) -> dict[str, float]:
    transport, message = kind(place, typed_values.SIZE), case.settings["message"]
    if case.settings["processes"] == 1:
        return in_one_process(transport, message, seconds)

    def receive(line: ControlLine) -> dict[str, float]:
        take = transport.value_receiver(message)
        line.meet()
        line.meet()
        rate, total = 0.0, 0
        for blocks in counts(line, 10, seconds):
            total = blocks * typed_values.ROWS
            value = take(total)
            last = perf_counter_ns()
            first = line.hear()
            check(message, value)
            rate = total * 1e9 / (last - first)
        line.meet()
        transport.close()
        return {FIGURE: rate, "ns_per_message": 1e9 / rate, "messages": total}

    def send(line: ControlLine) -> None:
        line.meet()
        send_some = transport.value_sender(message)
        line.meet()
        for blocks in told_counts(line):
            first = perf_counter_ns()
            send_some(blocks * typed_values.ROWS)
            line.tell(first)
        line.meet()
        transport.close()

    return in_two_processes(receive, send, apart=not transport.threads_of_its_own)


def in_one_process(transport: typed_values.ValueTransport, message: str, seconds: float) -> dict[str, float]:
    take, send = transport.value_receiver(message), transport.value_sender(message)
    block = transport.at_once
    costs: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = perf_counter_ns()
        send(block)
        value = take(block)
        costs.append((perf_counter_ns() - begun) / block)
        check(message, value)
    transport.close()
    cost = median(costs[len(costs) // 10 :])
    return {FIGURE: 1e9 / cost, "ns_per_message": cost, "messages": len(costs) * block}


def check(message: str, value) -> None:
    """Values arrive as they were sent. Of a record the receiver returns its last field."""
    plain = {"bytes": typed_values.BODY, "doubles": typed_values.RECORD[-1]}
    expected = plain[message] if message in plain else typed_values.example(message)
    if value != expected:
        raise AssertionError(f"received {value!r}, not {expected!r}")
