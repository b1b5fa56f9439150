# SPDX-License-Identifier: Apache-2.0
"""Under asyncio: how many messages a second does a task receive, and how long until an answer is back from another?

The rate has a plain sender in front of it, so that the receiving task is what is measured; the round trip is between
tasks of two processes, each in its own loop.
"""

import asyncio
from itertools import repeat
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.histogram import Histogram
from slipring.bench.processes import ControlLine, Figures, counts, in_two_processes, told_counts
from slipring.bench.transport import Transport

TITLE = "Under asyncio: received by a task, and round trip between tasks, 64 B"
FIGURE = "messages_per_s"
FURTHER_FIGURES = ("p50_us", "p99_us", "p99.9_us", "max_us")
SIZE = 64
NAMES = ("slipring", "asyncio-streams", "zmq-asyncio")
BODY = bytes(range(SIZE))
FIRST_COUNT = 200


def cases(quick: bool) -> list[Case]:
    return [Case("asyncio", name) for name in NAMES]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    transport = kind(place, SIZE, channels=("rate", "there", "back"))

    def here(line: ControlLine) -> Figures:
        times = asyncio.run(ask(transport, line, seconds))
        rate, messages = asyncio.run(receive(transport, line, seconds))
        line.meet()
        transport.close()
        return {FIGURE: rate, "messages": messages, "histogram": times.text()}

    def there(line: ControlLine) -> None:
        asyncio.run(answer(transport, line))
        send(transport, line)
        line.meet()
        transport.close()

    return in_two_processes(here, there, apart=not transport.threads_of_its_own)


async def ask(transport: Transport, line: ControlLine, seconds: float) -> Histogram:
    receive_one = await transport.async_receiver("back")
    line.meet()
    send_one = await transport.async_sender("there")
    line.meet()
    times: list[int] = []
    for count in counts(line, FIRST_COUNT, seconds):
        times = []
        for _ in repeat(None, count):
            begun = perf_counter_ns()
            await send_one(BODY)
            await receive_one()
            times.append(perf_counter_ns() - begun)
    return Histogram.of(times)


async def answer(transport: Transport, line: ControlLine) -> None:
    receive_one = await transport.async_receiver("there")
    line.meet()
    send_one = await transport.async_sender("back")
    line.meet()
    for count in told_counts(line):
        for _ in repeat(None, count):
            await send_one(await receive_one())


async def receive(transport: Transport, line: ControlLine, seconds: float) -> tuple[float, int]:
    receive_one = await transport.async_receiver("rate")
    line.meet()
    line.meet()
    rate, count = 0.0, 0
    for count in counts(line, FIRST_COUNT, seconds):
        for _ in repeat(None, count):
            body = await receive_one()
        last = perf_counter_ns()
        if body != BODY:
            raise AssertionError(f"received {body!r}")
        rate = count * 1e9 / (last - line.hear())
    return rate, count


def send(transport: Transport, line: ControlLine) -> None:
    line.meet()
    send_one = transport.sender("rate")
    line.meet()
    for count in told_counts(line):
        first = perf_counter_ns()
        for _ in repeat(None, count):
            send_one(BODY)
        line.tell(first)
