# SPDX-License-Identifier: Apache-2.0
"""What does a process cost that waits and gets nothing? Its processor time and how often it wakes, all threads told.

``recv`` waits for one topic, ``wait-100`` for a hundred, ``asyncio`` in a task. The figures are from /proc.
They are counted from four to sixteen times the length of other samples (1 to 4 s) after the wait began; afterwards one
message ends it, which shows that it was one.

``wakeups_added`` is the number of wake-ups in the last two thirds of that time minus the number in the first third. A
process that wakes up periodically has twice as many there. A wait whose checks double their distance has as many.
"""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, Figures, Workers
from slipring.bench.transport import Transport

TITLE = "Waiting for nothing"
FIGURE = "cpu_percent"
FURTHER_FIGURES = ("wakeups_per_s", "wakeups_added")
SIZE = 64
BODY = bytes(range(SIZE))
TOPICS = {"recv": 1, "wait-100": 100, "asyncio": 1}
ASKED = (
    ("slipring", "recv"),
    ("slipring", "wait-100"),
    ("slipring", "asyncio"),
    ("unix-socket", "recv"),
    ("pyzmq", "recv"),
    ("pyzmq", "wait-100"),
    ("iceoryx2", "recv"),
    ("iceoryx2-event", "recv"),
    ("msgq", "recv"),
    ("faster-fifo", "recv"),
    ("asyncio-streams", "asyncio"),
    ("zmq-asyncio", "asyncio"),
)
LONGER = 4


def cases(quick: bool) -> list[Case]:
    return [Case("idle", name, {"way": way}) for name, way in (ASKED[:3] if quick else ASKED)]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    way = case.settings["way"]
    channels = tuple(f"t{i}" for i in range(TOPICS[way]))
    transport = kind(place, SIZE, channels)

    def wait(line: ControlLine) -> None:
        if way == "asyncio":
            asyncio.run(wait_in_a_task(transport, channels[0], line))
        else:
            wait_for_one = transport.waiter() if way == "wait-100" else transport.receiver(channels[0])
            line.meet()
            wait_for_one()
        line.tell("woken")
        transport.close()

    with Workers() as workers:
        line = workers.start(wait)
        line.meet()
        send = transport.sender(channels[0])
        time.sleep(seconds * LONGER)
        figures = watched(workers.children[0], seconds * LONGER)
        send(BODY)
        line.hear()
        transport.close()
    return figures


async def wait_in_a_task(transport: Transport, channel: str, line: ControlLine) -> None:
    receive_one = await transport.async_receiver(channel)
    line.meet()
    await receive_one()


def watched(process: int, seconds: float) -> Figures:
    begun, cpu, before = time.monotonic(), cpu_ns(process), switches(process)
    time.sleep(seconds)
    between = switches(process)
    time.sleep(2 * seconds)
    after, spent_s = switches(process), time.monotonic() - begun
    return {
        FIGURE: (cpu_ns(process) - cpu) / spent_s / 1e7,
        "wakeups_per_s": (after - before) / spent_s,
        "wakeups_added": (after - between) - (between - before),
    }


def told_by_threads(process: int, file: str) -> list[str]:
    """Return that file of each thread of the process, without threads that end meanwhile."""
    told = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            told.append((task / file).read_text())
    return told


def cpu_ns(process: int) -> int:
    """Time on a processor; the first number of schedstat, which counts ns where others count ticks."""
    return sum(int(text.split()[0]) for text in told_by_threads(process, "schedstat"))


def switches(process: int) -> int:
    """How often its threads went to sleep, and so were woken; without those that have ended."""
    text = "".join(told_by_threads(process, "status"))
    lines = (line.split() for line in text.splitlines())
    return sum(int(line[1]) for line in lines if line[0] == "voluntary_ctxt_switches:")
