# SPDX-License-Identifier: Apache-2.0
"""Cells on a stepped bus: a step delivers a put; losses, and kills at named points."""

import pytest

import slipring
from slipring.testing import Deadlock, Killed, SteppedBus


@pytest.fixture
def cells(bus):
    return bus.cells("pose", dtype="i8", depth=2)


def test_an_element_is_in_flight_until_its_step(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    for value in range(3):
        writer.put(value)
    assert reader.snapshot() == [] and reader.wait(0) is False
    assert bus.pending() == [("pose", 0)]
    assert bus.step() == ("pose", reader._end._number, 0, False)
    assert reader.latest() == 0
    assert bus.run_until_idle() == 2
    assert reader.snapshot() == [1, 2]
    assert (reader.received, reader.lost, cells.stats()["puts"]) == (3, 0, 3)


def test_arrived_elements_are_overwritten_only_by_arriving_ones(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    writer.put(0)
    bus.step()
    for value in range(1, 9):
        writer.put(value)
    assert reader.latest() == 0
    bus.run_until_idle()
    assert reader.snapshot() == [7, 8]
    assert (reader.received, reader.lost) == (3, 6)


def test_elements_put_before_the_reader_opened_or_after_it_closed_need_no_delivery(bus, cells):
    writer = cells.writer()
    writer.put(1)
    with cells.reader() as reader:
        assert reader.snapshot() == [1]
        writer.put(2)
        assert reader.snapshot() == []
    assert bus.pending() == []
    assert cells.reader().snapshot() == [2]


def test_a_waiting_reader_is_driven_to_its_element_and_an_endless_wait_is_reported(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    task = bus.spawn(lambda: (bus.clock.sleep(3), writer.put(7)))
    assert reader.wait() is True and reader.latest() == 7
    assert bus.clock.monotonic() == 3
    task.result()
    assert reader.wait(60) is False
    assert bus.clock.monotonic() == 63
    with pytest.raises(Deadlock, match="wait on cells 'pose'"):
        reader.wait()


def test_the_seed_chooses_between_cells_and_topics_but_not_within_cells(bus):
    def run(seed: int) -> list[tuple]:
        with SteppedBus(seed=seed) as stepped:
            ends = []
            for name in ("a", "b", "c"):
                one = stepped.cells(name, dtype="i8", depth=9)
                ends.append((one.writer(), one.reader()))
                for value in range(5):
                    ends[-1][0].put(value)
            order = [tuple(delivery)[::2] for delivery in iter(stepped.step, None)]
            assert [reader.snapshot() for _, reader in ends] == [[0, 1, 2, 3, 4]] * 3
            return order

    orders = [run(seed) for seed in range(8)]
    assert orders == [run(seed) for seed in range(8)]
    assert len(set(map(tuple, orders))) == 8
    for order in orders:
        assert all([seq for name, seq in order if name == one] == [0, 1, 2, 3, 4] for one in "abc")


# Faults


def test_a_lost_element_is_counted_and_the_next_one_arrives(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    bus.lose(reader)
    for value in range(3):
        writer.put(value)
    bus.run_until_idle()
    assert reader.snapshot() == [1, 2]
    bus.lose("pose")
    writer.put(3)
    bus.run_until_idle()
    assert reader.snapshot() == []
    assert (reader.received, reader.lost, reader.position) == (2, 2, 4)


def test_a_lapped_reader_has_only_the_newest(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    writer.put(1)
    writer.put(2)
    assert bus.lap(reader, keep=1) == 1
    assert reader.snapshot() == [2]
    assert (reader.received, reader.lost) == (1, 1)


def test_a_writer_killed_before_its_put_has_put_nothing_and_one_killed_after_it_has_put_all(bus, cells):
    reader = cells.reader()
    for point, puts in (("filled", 0), ("put", 1)):
        writer = cells.writer()
        bus.kill(writer, at=point)
        with pytest.raises(Killed):
            writer.put(9)
        bus.run_until_idle()
        assert cells.stats()["puts"] == puts
        assert cells.stats()["writers"][0]["alive"] is False
    assert reader.snapshot() == [9]
    assert cells.writer().put(10) == 1


def test_a_slot_of_a_killed_writer_is_never_put(bus, cells):
    other = bus.process()
    writer, reader = other.cells("pose").writer(), cells.reader()
    with pytest.raises(Killed), writer.slot() as view:
        view[...] = 5
        bus.kill(other)
    with cells.writer() as next_writer:
        assert next_writer.put(6) == 0
    bus.run_until_idle()
    assert reader.snapshot() == [6]


def test_elements_taken_by_a_killed_reader_are_lost_and_the_next_reader_continues(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    writer.put(1)
    bus.run_until_idle()
    bus.kill(reader, at="taken")
    with pytest.raises(Killed):
        reader.snapshot()
    writer.put(2)
    assert bus.pending() == [] and bus.doctor()[0]["problem"] == "1 table entry of dead processes"
    again = cells.reader()
    assert again.snapshot() == [2]
    stats = cells.stats()
    assert (stats["received"], stats["lost"], stats["position"]) == (1, 1, 2)
    assert bus.doctor() == []


def test_a_killed_reader_can_be_replaced_while_its_views_live(bus, cells):
    writer, reader = cells.writer(), cells.reader()
    writer.put(1)
    bus.run_until_idle()
    views = reader.snapshot(copy=False)
    with pytest.raises(slipring.Busy):
        cells.reader()
    bus.kill(reader)
    writer.put(2)
    assert cells.reader().snapshot() == [2]
    assert views == [1]
    assert reader.closed


def test_a_point_that_an_end_does_not_pass_is_refused_by_name(bus, cells):
    for end, points in ((cells.writer(), '"filled" or "put"'), (cells.reader(), '"taken"')):
        with pytest.raises(slipring.BadArgument, match=points):
            bus.kill(end, at="held")
