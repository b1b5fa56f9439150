# SPDX-License-Identifier: Apache-2.0
"""The stream reader and its cursor, called in Spark's order: kept, released and moved positions."""

from pathlib import Path

import pytest

import slipring
from layout import document
from slipring.spark.errors import CursorGone, CursorInUse, CursorMoved, DataLoss
from slipring.spark.source import micro_batch_stream, query_cursors
from spark.source.readers import position
from support.waiting import eventually


def test_messages_are_kept_until_commit_through_every_death(driven, bus, cmd):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    rows = reader.batch()
    assert position(bus) == 0
    reader.restart()
    for n in range(5):
        cmd.send(b"more %d" % n, timeout=0)
    with pytest.raises(slipring.Full):
        cmd.send(b"x", timeout=0)
    assert reader.read() == rows  # the same batch again, complete and without duplicates
    assert len(reader.batch()) == 5
    assert position(bus) == 10  # of the previous batch
    reader.reader.commit(reader.logged[1])
    reader.reader.commit(reader.logged[0])  # late, and again: the position does not go back
    reader.reader.commit(reader.logged[1])
    assert position(bus) == 15
    cmd.send(b"x", timeout=0)


@pytest.mark.parametrize("size", [None, 1300, 2500])
def test_a_batch_that_fills_the_ring_is_released_although_no_message_can_follow(driven, bus, size):
    """By slots, by bytes, and by one message larger than half of the ring."""
    publisher = bus.publisher("cmd", delivery="reliable", capacity=4096, slots=16)
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    assert reader.batch() == []
    body, sent = b"x" * (size or 1), 0
    for _ in range(3):
        with pytest.raises(slipring.Full):
            while True:
                publisher.send(body, timeout=0)
                sent += 1
        assert len(reader.batch()) == sent - position(bus)
        assert position(bus) < sent
        assert reader.log()  # an empty batch, so that Spark commits the one before
        assert reader.read() == []
        assert position(bus) == sent
        assert not reader.log()  # once is enough
        reader.restart()
        assert not reader.log()


def test_a_batch_that_leaves_room_is_released_by_itself_only_after_a_long_time(driven, bus, cmd, monkeypatch):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets='{"cmd": 5}')
    assert len(reader.batch()) == 5
    monkeypatch.setattr(micro_batch_stream, "RELEASE_AFTER_S", 1e9)
    assert not reader.log()
    assert position(bus) == 5
    monkeypatch.setattr(micro_batch_stream, "RELEASE_AFTER_S", -1.0)
    assert reader.log() and reader.read() == []
    assert position(bus) == 10


def test_two_live_queries_of_one_group_are_refused(driven, cmd, monkeypatch):
    monkeypatch.setattr(query_cursors, "PREDECESSOR_ENDS_S", 0.2)
    first = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    first.batch()
    with pytest.raises(CursorInUse, match="option groupId: a live query or subscriber reads topic 'cmd'"):
        driven(subscribe="cmd", groupId="g").batch()
    assert len(driven(subscribe="cmd", groupId="other", startingOffsets="earliest").batch()) == 10


def test_a_query_waits_for_its_predecessor_to_end(driven, cmd, background):
    first = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    first.batch()
    second = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    waiting = background(second.batch)
    waiting.wait_until_asleep()
    first.stop()
    assert len(waiting.result()) == 10


def test_a_cursor_dropped_between_runs_is_created_again_if_nothing_is_lost(driven, bus, cmd):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    reader.batch()
    reader.stop()
    bus.drop_cursor("cmd", "g")
    reader.restart()
    assert [row["offset"] for row in reader.read()] == [0, 1, 2, 3]
    assert position(bus) == 0
    assert [row["offset"] for row in reader.batch()] == [4, 5, 6, 7]


@pytest.mark.parametrize("how", ["dropped", "expired"])
def test_messages_lost_without_the_cursor_stop_the_query_or_are_counted(driven, bus, cmd, how):
    expires = {"groupExpires": "50ms"} if how == "expired" else {}
    reader = driven(
        subscribe="cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=4, **expires
    )
    reader.batch()
    reader.stop()
    if how == "dropped":
        bus.drop_cursor("cmd", "g")
    else:
        eventually(lambda: bus.cursors("cmd")[0]["age_s"] > 0.05, "the cursor's end")
        bus.subscriber("cmd", lossy=True).close()  # attaching sweeps
        assert position(bus) is None
    cmd.send_many([b"new"] * 8, timeout=0)
    reader.restart()
    with pytest.raises(DataLoss, match=r"of \[0, 4\) of topic 'cmd' were overwritten unread.*failOnDataLoss"):
        reader.read()
    reader.restart(failOnDataLoss="false")
    reader.read()
    oldest = bus.stats("cmd")["oldest"]
    assert reader.reader.latestOffset(reader.logged[0], reader.reader.getDefaultReadLimit())
    assert reader.reader.reportLatestOffset()["lost"] == {"cmd": min(4, oldest)}


def test_a_cursor_dropped_during_the_query_is_named(driven, bus, cmd):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    reader.batch()
    with pytest.raises(slipring.Busy):
        bus.drop_cursor("cmd", "g")
    layout = document.read().structures
    table = next(row for row in layout["readers_header"] if row.name == "cursors_offset")
    state = next(row for row in layout["cursor"] if row.name == "state")
    with open(Path(bus.path) / "cmd.readers", "r+b") as file:
        file.seek(table.offset)
        file.seek(int.from_bytes(file.read(8), "little") + state.offset)
        file.write(bytes(8))
    with pytest.raises(CursorGone, match=r"cursor 'g' of topic 'cmd' was dropped or has expired.*restart"):
        reader.reader.commit(reader.logged[0])


def test_a_cursor_ahead_of_the_checkpoint_was_moved_by_another_reader(driven, bus, cmd):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    reader.batch()
    reader.stop()
    with bus.subscriber("cmd", cursor="g") as other:
        other.recv_many(8)
        other.commit()
    reader.restart()
    with pytest.raises(CursorMoved, match="stands at 8, the query's checkpoint at 0"):
        reader.read()
