# SPDX-License-Identifier: Apache-2.0
"""Promise 21: the newest n, in order, each once; the reader owns what it holds; one writer, one reader."""

import gc

import numpy as np
import pytest

import slipring

pytestmark = pytest.mark.needs("cells")

DEPTHS = [1, 2, 3, 4, 7, 64]


@pytest.fixture
def pose(bus):
    return bus.cells("pose", dtype="f8", depth=2)


@pytest.fixture
def ends(pose):
    return pose.writer(), pose.reader()


def put_all(writer, values) -> None:
    for value in values:
        writer.put(value)


def test_three_puts_into_two_cells_show_the_last_two_once(ends):
    writer, reader = ends
    put_all(writer, [1, 2, 3])
    assert reader.snapshot() == [2, 3]
    assert reader.snapshot() == []
    assert (reader.received, reader.lost, reader.skipped, reader.position) == (2, 1, 0, 3)


def test_latest_shows_only_the_newest_and_never_twice(ends):
    writer, reader = ends
    assert reader.latest() is None
    put_all(writer, [1, 2, 3])
    assert reader.latest() == 3
    assert reader.latest() is None
    assert reader.latest("nothing") == "nothing"
    assert reader.snapshot() == []
    assert (reader.received, reader.lost, reader.skipped) == (1, 1, 1)


def test_latest_again_repeats_the_newest_seen_so_far(ends):
    writer, reader = ends
    assert reader.latest("none yet", again=True) == "none yet"
    put_all(writer, [1, 2])
    assert reader.snapshot() == [1, 2]
    assert reader.latest(again=True) == 2
    writer.put(3)
    assert reader.latest(again=True) == reader.latest(again=True) == 3
    assert reader.received == 3


@pytest.mark.parametrize("depth", DEPTHS)
def test_every_burst_shows_its_newest_in_order_and_counts_the_rest(bus, depth):
    cells = bus.cells("c", dtype="i8", depth=depth)
    writer, reader = cells.writer(), cells.reader()
    total = lost = 0
    for burst in [*range(2 * depth + 3), 5 * depth + 1]:
        put_all(writer, range(total, total + burst))
        total, lost = total + burst, lost + max(0, burst - depth)
        assert reader.snapshot() == list(range(total - min(burst, depth), total))
        assert (reader.lost, reader.received) == (lost, total - lost)
    assert cells.stats()["puts"] == total
    assert cells.stats()["cells"] == 2 * depth + 1


def test_a_snapshot_does_not_change_however_much_is_put_later(bus):
    cells = bus.cells("c", dtype="i8", depth=3, shape=100)
    writer, reader = cells.writer(), cells.reader()
    put_all(writer, (np.full(100, n) for n in range(3)))
    copies = reader.snapshot()
    put_all(writer, (np.full(100, n) for n in range(3, 6)))
    views = reader.snapshot(copy=False)
    put_all(writer, (np.full(100, n) for n in range(6, 50)))
    assert [sorted(set(array.tolist())) for array in copies + views] == [[n] for n in range(6)]
    assert all(not view.flags.writeable and not view.flags.owndata for view in views)


def test_nothing_more_is_taken_while_elements_are_in_use_in_place(ends):
    writer, reader = ends
    put_all(writer, [1, 2])
    views = reader.snapshot(copy=False)
    part = views[1][...]
    writer.put(3)
    with pytest.raises(BufferError, match="in use"):
        reader.snapshot()
    with pytest.raises(BufferError):
        reader.latest()
    del views
    with pytest.raises(BufferError):
        reader.latest(copy=False)
    assert part == 2
    del part
    assert reader.latest(copy=False) == 3
    assert reader.snapshot(copy=False) == []


def test_a_slot_is_filled_in_place_and_put_at_the_end_of_its_block(ends):
    writer, reader = ends
    slot = writer.slot()
    with slot as view:
        view[...] = 7.5
        assert reader.latest() is None
    assert slot.seq == 0
    assert reader.latest() == 7.5
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 8


def test_an_exception_in_a_slot_puts_nothing(ends):
    writer, reader = ends
    with pytest.raises(KeyError), writer.slot() as view:
        view[...] = 1
        raise KeyError
    assert writer.put(2) == 0
    assert reader.snapshot() == [2]


def test_a_slot_with_slices_left_puts_nothing_until_they_are_gone(bus):
    cells = bus.cells("c", dtype="u1", shape=8)
    writer, reader = cells.writer(), cells.reader()
    with pytest.raises(BufferError, match="nothing was put"), writer.slot() as view:
        part = view[2:4]
    with pytest.raises(BufferError, match="in use"):
        writer.put(range(8))
    assert reader.latest() is None
    del part, view
    gc.collect()
    writer.put(range(8))
    assert reader.latest().tolist() == list(range(8))


def test_a_put_while_a_slot_is_open_is_refused_and_disturbs_nothing(ends):
    writer, reader = ends
    with writer.slot() as view:
        view[...] = 1
        with pytest.raises(BufferError, match="slot"):
            writer.put(2)
        with pytest.raises(BufferError), writer.slot():
            pass
    assert reader.snapshot() == [1]


def test_a_second_writer_or_reader_is_refused_and_the_first_not_disturbed(bus, pose, ends):
    writer, reader = ends
    for second in (pose.writer, pose.reader, bus.cells("pose").writer):
        with pytest.raises(slipring.Busy, match="live"):
            second()
    writer.put(1)
    assert reader.latest() == 1
    writer.close()
    reader.close()
    assert pose.writer().put(2) == 1
    assert pose.reader().snapshot() == [2]


def test_either_end_continues_where_the_last_one_ended(pose):
    for number in range(20):
        with pose.writer() as writer:
            assert writer.put(number) == number
        if number % 4 == 3:
            with pose.reader() as reader:
                assert reader.snapshot() == [number - 1, number]
                assert reader.lost == 2
    stats = pose.stats()
    assert (stats["puts"], stats["received"], stats["lost"], stats["lag"]) == (20, 10, 10, 0)


@pytest.mark.parametrize(
    ("asked", "argument", "found"),
    [
        ({"dtype": "f4"}, "dtype", "float64"),
        ({"dtype": "f8", "shape": (3,)}, "shape", "()"),
        ({"size": 8}, "dtype", "float64, shape ()"),
        ({"dtype": "f8", "depth": 3}, "depth", "2"),
        ({"depth": 70000}, "depth", None),
    ],
)
def test_other_settings_are_refused_naming_both_and_change_nothing(bus, pose, asked, argument, found):
    with pytest.raises(slipring.SlipringError) as caught:
        bus.cells("pose", **asked)
    assert caught.value.argument == argument
    if found is not None:
        assert type(caught.value) is slipring.TopicExists
        assert caught.value.found == found
        assert caught.value.asked not in ("", found)
    assert bus.cells("pose", dtype="<f8", depth=2, shape=()).depth == 2
    assert bus.cells("pose").dtype == np.dtype("f8")


def test_a_name_belongs_to_topics_or_cells_not_to_both(bus, pose):
    bus.create("topic", capacity=4096)
    with pytest.raises(slipring.TopicExists, match="belongs to topic"):
        bus.cells("topic", dtype="f8")
    with pytest.raises(slipring.TopicExists, match="belongs to cells"):
        bus.create("pose", capacity=4096)
    with pytest.raises(slipring.TopicExists):
        bus.publisher("pose")
    assert bus.contents() == {"pose": "cells", "topic": "topic"}
    assert bus.topics() == ["topic"]


def test_missing_cells_are_not_found_and_existing_ones_not_made_twice(bus, pose):
    with pytest.raises(slipring.TopicNotFound):
        bus.cells("other")
    with pytest.raises(slipring.TopicExists):
        bus.cells("pose", dtype="f8", exist_ok=False)
    with pytest.raises(slipring.BadArgument):
        bus.cells("../pose", dtype="f8")


def test_removed_cells_are_gone_for_both_ends(bus, pose, ends):
    writer, reader = ends
    bus.remove("pose")
    for call in (lambda: writer.put(1), writer.slot().__enter__, reader.latest, reader.snapshot, reader.wait):
        with pytest.raises(slipring.TopicGone):
            call()
    with pytest.raises(slipring.TopicNotFound):
        bus.remove("pose")
    assert bus.contents() == {}


def test_closed_ends_raise_closed_and_keep_their_counts(bus, ends):
    writer, reader = ends
    put_all(writer, [1, 2, 3])
    reader.snapshot()
    bus.close()
    for call in (lambda: writer.put(1), writer.slot().__enter__, reader.latest, reader.snapshot, reader.wait):
        with pytest.raises(slipring.Closed):
            call()
    assert (reader.received, reader.lost) == (2, 1)
    assert "closed" in repr(reader) and "closed" in repr(writer)


def test_views_outlive_their_closed_reader(ends, pose):
    writer, reader = ends
    put_all(writer, [1, 2])
    views = reader.snapshot(copy=False)
    reader.close()
    put_all(writer, range(3, 30))
    assert views == [1, 2]
    with pytest.raises(slipring.Busy):  # what they show is still the old reader's
        pose.reader()
    del views
    assert pose.reader().snapshot() == [28, 29]


def test_a_wait_ends_with_a_put_its_time_or_the_closing(ends, background):
    writer, reader = ends
    assert reader.wait(0) is False
    assert reader.wait(0.01) is False
    waiting = background(reader.wait)
    waiting.wait_until_asleep()
    writer.put(1)
    assert waiting.result() is True
    assert reader.wait() is True
    reader.latest()
    waiting = background(reader.wait, 60)
    waiting.wait_until_asleep()
    reader.close()
    with pytest.raises(slipring.Closed):
        waiting.result()


def test_threads_take_turns_at_one_end(bus, background):
    cells = bus.cells("c", dtype="i8", depth=4, shape=32)
    writer, reader = cells.writer(), cells.reader()

    def write(thread: int) -> None:
        for number in range(3000):
            writer.put(np.full(32, thread * 10_000 + number))

    threads = [background(write, n) for n in range(3)]
    last = dict.fromkeys(range(3), -1)
    ended = False
    while not ended:
        ended = all(thread.done for thread in threads)  # then one more look
        reader.wait(0.01)
        for array in reader.snapshot():
            assert len(set(array.tolist())) == 1
            thread, number = divmod(int(array[0]), 10_000)
            assert number > last[thread]
            last[thread] = number
    assert reader.received + reader.lost == 9000


def test_stats_and_doctor_change_nothing(bus, pose, ends):
    writer, _ = ends
    put_all(writer, [1, 2, 3])
    before = (bus.path, pose.stats())
    assert bus.doctor() == []
    assert (bus.path, bus.stats("pose")) == before
    assert before[1]["writers"][0]["alive"] and before[1]["readers"][0]["alive"]
