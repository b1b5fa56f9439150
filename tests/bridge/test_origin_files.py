# SPDX-License-Identifier: Apache-2.0
"""Exactly once, whatever is killed: what the next process knows about the last message of a dead one."""

import os
import random
import resource
from pathlib import Path

import pytest

import slipring
from slipring._bus.exactly_once import origin as origin_file
from slipring.bridge import origin_files

TRIALS = int(os.environ.get("SLIPRING_STEP_TRIALS", "150")) // 20
TESTS = str(Path(__file__).resolve().parents[1])


def origin(bus, state, **settings):
    return origin_files.Origin(bus, "t", "test:origin", directory=state, **settings)


def send(opened, number: int) -> int:
    return opened.send(number, b"%d" % number, "k", "ann", 1_000 + number)


def test_the_next_process_knows_what_was_published_and_does_not_publish_it_again(bus, state):
    first = origin(bus, state, capacity=4096, slots=16)
    sub = bus.subscriber("t")
    for number in range(1, 6):
        send(first, number)
    first.close()
    second = origin(bus, state)
    assert (second.progress.number, second.progress.count, second.progress.seq) == (5, 5, 4)
    assert send(second, 5) == 4
    assert send(second, 6) == 5
    assert [(m.body, m.sender, m.type, m.time_ns) for m in sub.recv_many(10)] == [
        (b"%d" % number, "ann", "k", 1_000 + number) for number in range(1, 7)
    ]
    second.close()


def test_an_origin_is_published_by_one_process_at_a_time(bus, state):
    first = origin(bus, state)
    with pytest.raises(slipring.Busy):
        origin(bus, state)
    first.close()
    origin(bus, state).close()


def test_a_topic_created_again_begins_without_a_past(bus, state):
    first = origin(bus, state)
    send(first, 7)
    first.close()
    bus.remove("t")
    again = origin(bus, state)
    assert again.progress == origin_files.Progress()
    again.close()


@pytest.mark.parametrize("laps", [0, 1, 5], ids=["retained", "overwritten", "long ago"])
@pytest.mark.parametrize("committed", [True, False], ids=["committed", "abandoned"])
def test_the_ring_always_knows_whether_a_sequence_became_a_message(bus, laps, committed):
    bus.create("t", capacity=4096, slots=16)
    pub = bus.publisher("t")
    pub.send_many([b"x"] * 5)
    loan = pub.loan(1)
    loan.__enter__()
    pub.send(b"x")
    loan.__exit__(*((None, None, None) if committed else (KeyError, KeyError(), None)))
    pub.send_many([b"x"] * 16 * laps)
    assert origin_file.was_committed(bus, "t", 5) is committed
    assert origin_file.was_committed(bus, "t", 4) and origin_file.was_committed(bus, "t", 6)


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "abandoned"])
def test_a_note_counts_only_if_its_sequence_became_a_message(bus, state, committed):
    first = origin(bus, state)
    send(first, 1)
    loan = first.publisher.loan(1)
    loan.__enter__()
    note = origin_file._NOTE.pack(origin_file._MAGIC, 1, 1, 0, 0, 2, 2, 0, loan.seq)
    os.pwrite(first._descriptor, note, 0)
    loan.__exit__(*((None, None, None) if committed else (KeyError, KeyError(), None)))
    first.close()
    second = origin(bus, state)
    assert second.progress.number == (2 if committed else 1)
    second.close()


def test_origin_files_of_removed_topics_are_removed(bus, state):
    origin(bus, state).close()
    origin_files.tidy(bus, state)
    assert len(origin_files.origins(state)) == 1
    bus.remove("t")
    origin_files.tidy(bus, state)
    assert origin_files.origins(state) == [] and not Path(state).exists()


NO_SPACE = """
import resource, signal
from slipring.bridge import origin_files
bus.create("t")
resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))  # as a full disk: a write fails
try:
    origin_files.Origin(bus, "t", "test:origin", directory=state)
except slipring.SystemFault as error:
    say(error.argument)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
origin = origin_files.Origin(bus, "t", "test:origin", directory=state)
say(origin.send(1, b"x", "", "", 1))
origin.close()
"""


def test_an_origin_that_found_no_space_can_be_opened_later(processes, state):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    child = processes.start(NO_SPACE, state=state)
    child.expect("state")
    child.expect(0)
    child.join()


DOOMED = """
import os, signal, sys
sys.path.insert(0, tests)
from crash.instructions import steps
from slipring.bridge import origin_files

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # tracer and traced take turns
while True:
    number, instructions = hear()
    pid = os.fork()
    if pid == 0:
        opened = origin_files.Origin(slipring.Bus("test", root=root), "t", "test:origin", directory=state)
        steps._trace(steps.PTRACE_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        opened.send(number, b"%d" % number, "", "", 1)
        os._exit(steps.COMPLETED)
    status = steps._follow(pid, 0, instructions)
    if os.WIFSTOPPED(status):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    say(os.WIFSTOPPED(status))
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("delivery", "writers"), [("reliable", "many"), ("lossy", "many"), ("lossy", "one")])
def test_killed_at_any_instruction_of_publishing_nothing_is_lost_or_published_twice(
    bus, processes, state, delivery, writers
):
    bus.create("t", delivery=delivery, writers=writers, capacity=4096, slots=16)
    sub = bus.subscriber("t")
    doomed = processes.start(DOOMED, tests=TESTS, state=state)
    dice = random.Random(1)
    got: list[int] = []
    number = killed = 0
    for _ in range(TRIALS):
        doomed.say(number + 1, dice.randrange(3000))
        killed += doomed.hear()
        opened = origin(bus, state)  # the next process: what does it know?
        got += [int(m.body) for m in sub.recv_many(100)]
        assert (got[-1] if got else 0) == opened.progress.number
        if opened.progress.number == number:
            send(opened, number + 1)  # it was not published: now it is
        send(opened, number + 1)  # and never twice
        opened.close()
        number += 1
    got += [int(m.body) for m in sub.recv_many(100)]
    assert got == list(range(1, number + 1))
    assert killed > TRIALS // 4
    doomed.kill()
