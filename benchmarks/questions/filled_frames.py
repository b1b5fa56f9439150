# SPDX-License-Identifier: Apache-2.0
"""How many frames of 8 MiB arrive in a second if the sender fills each frame and no process copies it?

Filling is one pass over the memory, so its speed depends on the cache: a transport that reuses the buffer written
last is fastest. The receiver reads the first and the last byte of each frame. A sleeping receiver has to be woken, at
the cost of the sender; `polled` and iceoryx2 keep a processor busy instead. The time runs from the first fill that
counts to the last frame received.
"""

from itertools import cycle
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, Figures, in_two_processes
from slipring.bench.transport import Transport

TITLE = "Frames of 8 MiB, filled by the sender, read in place"
FIGURE = "frames_per_s"
FURTHER_FIGURES = ("lost",)
SIZE = 8 << 20
# The byte that fills a frame: frames that count, frames of the warm-up (on memory not used before), the last frame.
FILLINGS, WARMING, END = [bytes([value]) for value in range(251)], b"\xfe", b"\xff"
WARM_UP = 16


def cases(quick: bool) -> list[Case]:
    names = ("slipring-frames", "slipring-frames-polled", "iceoryx2-frames", "iceoryx2-frames-kept")
    return [Case("filled_frames", name, {"size": SIZE}) for name in names]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    transport = kind(place, case.settings["size"])

    def receive(line: ControlLine) -> Figures:
        recv = transport.receiver("there")
        line.meet()
        received, last = 0, 0
        while (value := recv()) != END[0]:
            if value != WARMING[0]:
                received, last = received + 1, perf_counter_ns()
        first, sent = line.hear()
        line.tell("received")
        transport.close()
        if not received:
            raise AssertionError(f"none of {sent} frames arrived")
        return {FIGURE: received * 1e9 / (last - first), "lost": sent - received, "messages": received}

    def send(line: ControlLine) -> None:
        line.meet()
        fill = transport.sender("there")
        for _ in range(WARM_UP):
            fill(WARMING)
        first, sent = perf_counter_ns(), 0
        for value in cycle(FILLINGS):
            fill(value)
            sent += 1
            if perf_counter_ns() - first > seconds * 1e9:
                break
        fill(END)
        line.tell([first, sent])
        line.hear()
        transport.close()

    return in_two_processes(receive, send, apart=True)
