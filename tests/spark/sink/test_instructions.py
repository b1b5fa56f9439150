# SPDX-License-Identifier: Apache-2.0
"""A publisher of rows killed at any instruction: the next process knows the last published row (promise 30)."""

import os
import random
import struct
from pathlib import Path

import pytest

import slipring
from slipring._bus.exactly_once.origin import Origin
from slipring._bus.exactly_once.outbox import Outbox

TRIALS = int(os.environ.get("SLIPRING_STEP_TRIALS", "150")) // 50

INSTRUCTIONS = """
import os, signal, sys
sys.path.insert(0, tests)
from spark.sink import test_instructions as outside
from crash.instructions import steps

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # tracer and traced take turns
while True:
    number, instructions = hear()
    pid = os.fork()
    if pid == 0:
        origin = outside.origin_of(slipring.Bus("test", root=root))
        steps._trace(steps.PTRACE_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        outside.send_three(origin, number)
        os._exit(steps.COMPLETED)
    status = steps._follow(pid, 0, instructions)
    if os.WIFSTOPPED(status):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    say(os.WIFSTOPPED(status))
"""


def origin_of(bus) -> Origin:
    directory = Outbox(bus.path, "query").path
    return Origin(bus, "t", "test", directory=directory)


def send_three(origin: Origin, number: int) -> int:
    """Send rows number to number + 2, from the middle of a column."""
    texts = [b"-", *(b"%d" % (number + row) for row in range(3)), b"-"]
    offsets = [sum(map(len, texts[:at])) for at in range(len(texts) + 1)]
    return origin.send_rows(number, (b"".join(texts), struct.pack("6i", *offsets), 1, 3), "k", "ann")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("delivery", ["reliable", "lossy"])
def test_a_publisher_killed_at_any_instruction_publishes_each_row_once(bus, processes, delivery):
    bus.create("t", delivery=delivery, capacity=4096, slots=16)
    sub = bus.subscriber("t")
    doomed = processes.start(INSTRUCTIONS, tests=str(Path(__file__).resolve().parents[2]))
    dice, got, number, killed = random.Random(1), [], 1, 0
    for _ in range(TRIALS):
        doomed.say(number, dice.randrange(9000))
        killed += doomed.hear()
        origin = origin_of(bus)  # the state that the next process finds
        got += [int(msg.body) for msg in sub.recv_many(100)]
        assert (got[-1] if got else 0) == origin.progress.number
        assert send_three(origin, number) == 3 and send_three(origin, number) == 3
        origin.close()
        number += 3
    got += [int(msg.body) for msg in sub.recv_many(100)]
    assert got == list(range(1, number)) and killed >= TRIALS // 4
    doomed.kill()


def test_a_column_with_offsets_outside_its_data_is_refused(bus):
    origin = origin_of(bus)
    for offsets in ((0, 4), (2, 1), (-1, 1)):
        with pytest.raises(slipring.BadArgument):
            origin.send_rows(1, (b"abc", struct.pack("2i", *offsets), 0, 1), "", "")
    for first, count in ((0, 2), (-1, 1), (1, 1)):
        with pytest.raises(slipring.BadArgument):
            origin.send_rows(1, (b"abc", struct.pack("2i", 0, 3), first, count), "", "")
    with pytest.raises(slipring.TooLarge):
        origin.send_rows(1, (bytes(1 << 25), struct.pack("2i", 0, 1 << 25), 0, 1), "", "")
    assert bus.stats("t")["tail"] - bus.stats("t")["abandoned"] == 0 and origin.progress.number == 0
    origin.close()
