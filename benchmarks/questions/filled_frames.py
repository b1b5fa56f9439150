# SPDX-License-Identifier: Apache-2.0
"""How many frames of 8 MiB a second, when the sender fills each and nobody copies?

Filling is one pass over the memory, so this is as fast as memory that was just used can be written again: whoever hands
out the buffer that is still in the cache wins. The receiver looks at both ends of each frame. Who sleeps meanwhile must
be woken, which the sender pays for; `polled`, and iceoryx2, keep a processor busy instead. The time runs from the first
fill that counts to the last frame received.
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
# What frames are filled with: those that count, those that only warm up (memory that nobody has touched), the last one.
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
