# SPDX-License-Identifier: Apache-2.0
"""Promise 21 between processes: a racing writer, ends that come, go, are killed, stopped and restarted."""

import os
import random

import numpy as np
import pytest

import slipring
from support.waiting import eventually

RECORD = [("number", "u8"), ("words", "u8", (30,))]
WRITE = """
    import numpy as np
    cells = bus.cells("c")
    writer = cells.writer()
    number = cells.stats()["puts"]
    say("writing")
    while not until or number < until:
        with writer.slot() as view:
            view["number"] = number
            view["words"] = number * 31
        number += 1
    say("done")
    hear()
"""
READ = """
    cells = bus.cells("c")
    reader = cells.reader()
    say("reading")
    newest = reader.position - 1
    def judge(element):
        global newest
        number = int(element["number"])
        assert number > newest, (number, newest)
        assert (element["words"] == number * 31).all(), element
        newest = number
    while newest < until - 1:
        for element in reader.snapshot(copy=copies):
            judge(element)
        del element
        element = reader.latest()
        if element is not None:
            judge(element)
    say(reader.received, reader.lost, reader.skipped)
"""


def expect_whole(element) -> int:
    number = int(element["number"])
    assert (element["words"] == number * 31).all(), element
    return number


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_under_a_racing_writer_nothing_is_torn_repeated_or_reordered(bus, processes, depth, copies):
    bus.cells("c", dtype=RECORD, depth=depth)
    until = 30_000
    reader = processes.start(READ.replace("del element", "element = None"), until=until, copies=copies)
    reader.expect("reading")
    writer = processes.start(WRITE, until=until)
    writer.expect("writing")
    received, lost, skipped = reader.hear()
    assert received + lost + skipped == until
    assert received > 0
    writer.expect("done")


def test_either_end_killed_anywhere_and_restarted_goes_on(bus, processes):
    """Random kills while both work; tests/crash has them at every instruction."""
    cells = bus.cells("c", dtype=RECORD, depth=3)
    reader = cells.reader()
    newest = -1
    for _ in range(12):
        writer = processes.start(WRITE, until=0)
        writer.expect("writing")
        for _ in range(random.randrange(1, 400)):
            for element in reader.snapshot():
                number = expect_whole(element)
                assert number > newest
                newest = number
        writer.kill()
        eventually(lambda: not cells.stats()["writers"][0]["alive"], "the death of the writer")
    for element in reader.snapshot():
        assert expect_whole(element) > newest
    with cells.writer() as last:
        puts = cells.stats()["puts"]
        assert last.put(np.zeros((), RECORD)) == puts
    reader.snapshot()
    assert reader.received + reader.lost == reader.position == puts + 1


def test_a_killed_reader_is_followed_by_one_that_sees_nothing_twice(bus, processes):
    cells = bus.cells("c", dtype=RECORD, depth=3)
    writer = processes.start(WRITE, until=0)
    writer.expect("writing")
    newest = -1
    for _ in range(8):
        child = processes.start("""
            reader = bus.cells("c").reader()
            while True:
                say([int(element["number"]) for element in reader.snapshot()])
        """)
        for _ in range(20):
            for number in child.hear():
                assert number > newest
                newest = number
        child.kill()
        with cells.reader() as reader:
            for element in reader.snapshot():
                assert expect_whole(element) > newest
                newest = expect_whole(element)
    writer.kill()
    assert bus.doctor() == [
        {
            "topic": "c",
            "problem": "1 table entry of dead processes",
            "action": "cleared by the next attach, or with repair",
            "severity": "note",
        }
    ]
    bus.doctor(repair=True)
    assert bus.doctor() == []


def test_a_stopped_writer_is_not_a_dead_one(bus, processes):
    cells = bus.cells("c", dtype=RECORD, depth=3)
    writer = processes.start(WRITE, until=0)
    writer.expect("writing")
    writer.stop()
    with pytest.raises(slipring.Busy):
        cells.writer()
    reader = cells.reader()
    reader.snapshot()
    writer.resume()
    assert reader.wait(60)


def test_a_writer_wakes_a_reader_of_another_process_and_idle_waiting_costs_nothing(bus, processes):
    cells = bus.cells("c", dtype="f8")
    reader = processes.start("""
        reader = bus.cells("c").reader()
        say("waiting")
        say(reader.wait(), float(reader.latest()))
    """)
    reader.expect("waiting")
    reader.wait_until_asleep()
    before = reader.cpu_seconds
    cells.writer().put(2.5)
    reader.expect((True, 2.5))
    assert reader.cpu_seconds - before < 1


def test_a_forked_child_is_refused_and_does_not_keep_its_parents_place(bus):
    cells = bus.cells("c", dtype="f8")
    writer, reader = cells.writer(), cells.reader()
    release, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        refused = 0
        for call in (lambda: writer.put(1), reader.snapshot, reader.latest, lambda: reader.wait(1)):
            try:
                call()
            except slipring.ForkedHandle:
                refused += 1
        os.close(held)
        os.read(release, 1)
        os._exit(0 if refused == 4 else 1)
    os.close(release)
    writer.close()
    reader.close()
    cells.writer().put(1)
    assert cells.reader().latest() == 1
    os.close(held)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_ctrl_c_ends_a_wait(bus, processes):
    bus.cells("c", dtype="f8")
    child = processes.start("""
        reader = bus.cells("c").reader()
        say("waiting")
        try:
            reader.wait()
        except KeyboardInterrupt:
            say("interrupted")
    """)
    child.expect("waiting")
    child.wait_until_asleep()
    child.signal(2)
    child.expect("interrupted")
