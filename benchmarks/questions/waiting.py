# SPDX-License-Identifier: Apache-2.0
"""How long does a wait on 1, 10, 100 or 1000 topics take to return the topic on which a message was sent?

``asleep``: the sender sends every millisecond, so the receiver sleeps before each message. ``awake``: the sender
sends as soon as the receiver has taken the previous message. The messages go in turn to topics spread over the list.
"""

import mmap
import resource
import time
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.histogram import Histogram
from slipring.bench.processes import ControlLine, Figures, in_two_processes
from slipring.bench.transport import Transport

TITLE = "Waiting on many topics: from a send until the wait returns"
FIGURE = "p50_us"
FURTHER_FIGURES = ("p99_us", "p99.9_us", "max_us")
SIZE = 64
TOPICS = (1, 10, 100, 1000)
NAMES = ("slipring", "unix-socket", "pyzmq")
SENT_TO = 10
PAUSE_S = 0.001
END = bytes(SIZE)


def cases(quick: bool) -> list[Case]:
    topics, names = ((1, 100), NAMES[:1]) if quick else (TOPICS, NAMES)
    return [
        Case("waiting", name, {"state": state, "topics": count})
        for state in ("asleep", "awake")
        for count in topics
        for name in names
    ]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    allow_many_files()
    count = case.settings["topics"]
    channels = tuple(f"t{i}" for i in range(count))
    transport = kind(place, SIZE, channels)
    # How many messages have been taken: shared, so that telling it wakes nobody.
    taken = memoryview(mmap.mmap(-1, 8)).cast("Q")

    def wait(line: ControlLine) -> Figures:
        wait_for_some = transport.waiter()
        line.meet()
        times = wait_until_end(wait_for_some, taken)
        line.meet()
        transport.close()
        kept = times[len(times) // 10 :]
        return {"messages": len(kept), "histogram": Histogram.of(kept).text()}

    def send(line: ControlLine) -> None:
        line.meet()
        senders = [transport.sender(channel) for channel in channels[:: max(1, count // SENT_TO)]]
        send_until(seconds, senders, taken, PAUSE_S if case.settings["state"] == "asleep" else 0)
        line.meet()
        transport.close()

    return in_two_processes(wait, send, apart=not transport.threads_of_its_own)


def allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def wait_until_end(wait_for_some, taken: memoryview) -> list[int]:
    """How long each message was on its way, in ns."""
    times: list[int] = []
    while True:
        ready = wait_for_some()
        now = perf_counter_ns()
        for receive in ready:
            body = receive()
            if body == END:
                return times
            times.append(now - int.from_bytes(body[:8], "little"))
            taken[0] += 1


def send_until(seconds: float, senders: list, taken: memoryview, pause_s: float) -> None:
    sent, end = 0, time.monotonic() + seconds
    rest = bytes(range(8, SIZE))
    while time.monotonic() < end:
        if pause_s:
            time.sleep(pause_s)
        senders[sent % len(senders)](perf_counter_ns().to_bytes(8, "little") + rest)
        sent += 1
        while taken[0] < sent:
            pass
    senders[0](END)
