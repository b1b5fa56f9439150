# SPDX-License-Identifier: Apache-2.0
"""The stream reader, called in Spark's order: where it begins, how far it goes, what it keeps and loses."""

import dataclasses
import json
from pathlib import Path

import pytest

import slipring
from layout import document
from slipring.spark import cursors, failures, plan, tasks
from slipring.spark.failures import (
    BadOption,
    CursorGone,
    CursorInUse,
    CursorMoved,
    DataLoss,
    OtherHost,
    TopicReplaced,
)
from slipring.spark.tally import Tally, add
from spark.readers import Driven, values
from support.waiting import eventually


@pytest.fixture
def driven(bus):
    made = []

    def make(**options):
        made.append(Driven(bus, **options))
        return made[-1]

    yield make
    for one in made:
        one.stop()
    while tasks._OPEN:  # what this process, as a worker, has kept open
        tasks._OPEN.popitem()[1].close()


@pytest.fixture
def cmd(bus):
    """A reliable topic with ten messages, kept by somebody."""
    publisher = bus.publisher("cmd", delivery="reliable", capacity=4096, slots=16)
    publisher.send_many([b"%d" % n for n in range(10)])
    return publisher


@pytest.fixture
def imu(bus):
    publisher = bus.publisher("imu", capacity=4096, slots=16)
    publisher.send_many([b"%d" % n for n in range(10)])
    return publisher


def position(bus, name="g"):
    return {cursor["name"]: cursor["position"] for cursor in bus.cursors("cmd")}.get(name)


# Beginning


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, None),
        ({"startingOffsets": "latest"}, None),
        ({"startingOffsets": "earliest"}, 0),
        ({"startingOffsets": '{"%s": 4}'}, 4),
        ({"startingTimestamp": "0"}, 0),
        ({"startingTimestamp": "2100-01-01T00:00:00Z"}, None),
    ],
)
@pytest.mark.parametrize("topic", ["imu", "cmd"])
def test_a_stream_begins_where_it_is_told(driven, imu, cmd, topic, options, first):
    options = {option: text.replace("%s", topic) for option, text in options.items()}
    reader = driven(subscribe=topic, **options, **({"groupId": "g"} if topic == "cmd" else {}))
    assert [row["offset"] for row in reader.batch()] == (list(range(first, 10)) if first is not None else [])
    {"imu": imu, "cmd": cmd}[topic].send(b"more")
    assert values(reader.batch()) == [b"more"]
    assert reader.batch() == []


def test_offsets_of_a_progress_are_a_place_to_begin_at(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    assert len(reader.batch()) == 4
    again = driven(subscribe="imu", startingOffsets=json.dumps(reader.logged[0]))
    assert [row["offset"] for row in again.batch()] == list(range(4, 10))


def test_a_place_that_is_not_published_yet_is_refused(driven, imu):
    with pytest.raises(BadOption, match="option startingOffsets: 11 of topic 'imu' is not published yet"):
        driven(subscribe="imu", startingOffsets='{"imu": 11}').batch()


def test_a_beginning_that_moved_between_the_two_questions_loses_nothing(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="latest")
    first = reader.start_of(0)
    imu.send_many([b"a", b"b"])
    reader.logged.append(reader.reader.latestOffset(first, reader.reader.getDefaultReadLimit()))
    reader.restart()  # before the batch was read: the new process would begin elsewhere
    imu.send(b"c")
    assert values(reader.read()) == [b"a", b"b"]
    assert values(reader.batch()) == [b"c"]


def test_a_reliable_topic_needs_a_group(driven, cmd):
    with pytest.raises(BadOption, match="option groupId: topic 'cmd' is reliable"):
        driven(subscribe="cmd").batch()


def test_a_new_query_goes_on_where_its_cursor_stands(driven, bus, cmd):
    first = driven(subscribe="cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    assert len(first.batch()) == 4
    first.reader.commit(first.logged[0])
    first.stop()
    again = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    assert [row["offset"] for row in again.batch()] == list(range(4, 10))


# Keeping and releasing


def test_messages_are_kept_until_commit_whatever_dies(driven, bus, cmd):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    rows = reader.batch()
    assert position(bus) == 0
    reader.restart()
    for n in range(5):
        cmd.send(b"more %d" % n, timeout=0)
    with pytest.raises(slipring.Full):
        cmd.send(b"x", timeout=0)
    assert reader.read() == rows  # the same batch again, nothing doubled, nothing missing
    assert len(reader.batch()) == 5
    assert position(bus) == 10  # of the batch before
    reader.reader.commit(reader.logged[1])
    reader.reader.commit(reader.logged[0])  # late, and again: nothing goes back
    reader.reader.commit(reader.logged[1])
    assert position(bus) == 15
    cmd.send(b"x", timeout=0)


def test_two_live_queries_of_one_group_are_refused(driven, cmd, monkeypatch):
    monkeypatch.setattr(cursors, "PREDECESSOR_ENDS_S", 0.2)
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


def test_a_cursor_that_was_dropped_between_runs_is_made_again_if_nothing_is_lost(driven, bus, cmd):
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
        bus.subscriber("cmd", lossy=True).close()  # whoever attaches sweeps
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


def test_a_cursor_that_vanishes_under_the_query_is_named(driven, bus, cmd):
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


def test_a_cursor_ahead_of_the_checkpoint_is_somebody_elses(driven, bus, cmd):
    reader = driven(subscribe="cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    reader.batch()
    reader.stop()
    with bus.subscriber("cmd", cursor="g") as other:
        other.recv_many(8)
        other.commit()
    reader.restart()
    with pytest.raises(CursorMoved, match="stands at 8, the query's checkpoint at 0"):
        reader.read()


# Other topics than before


def recreate(bus, publisher, delivery):
    publisher.close()
    topic = publisher.topic
    bus.remove(topic)
    fresh = bus.publisher(topic, delivery=delivery, capacity=4096, slots=16)
    fresh.send_many([b"fresh"] * 3)
    return fresh


@pytest.mark.parametrize("topic", ["imu", "cmd"])
def test_a_topic_that_was_replaced_is_named(driven, bus, imu, cmd, topic):
    group = {"groupId": "g"} if topic == "cmd" else {}
    reader = driven(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=4, **group)
    reader.batch()
    recreate(bus, {"imu": imu, "cmd": cmd}[topic], "reliable" if group else "lossy")
    with pytest.raises(
        TopicReplaced, match=rf"topic '{topic}' was removed, re-created.*generation [0-9a-f]{{16}}"
    ):
        reader.log()
    with pytest.raises(TopicReplaced):
        reader.read()  # in the process that had it open
    reader.restart()
    with pytest.raises(TopicReplaced):
        reader.read()  # and in one that finds it so
    reader.restart(failOnDataLoss="false")
    assert reader.read() == []
    assert values(reader.batch()) == [b"fresh"] * 3
    assert reader.batch() == []
    assert reader.reader.reportLatestOffset()["lost"] == {topic: 4}


def test_a_topic_from_before_a_restart_of_the_host_is_named(driven, bus, imu):
    """Files on a disk outlive the host's memory; what is in them then is not read."""
    reader = driven(subscribe="imu", startingOffsets="earliest")
    reader.batch()
    reader.stop()
    imu.close()
    ring = Path(bus.path) / "imu.ring"
    boot_id = next(row for row in document.read().structures["ring_header"] if row.name == "boot_id")
    contents = bytearray(ring.read_bytes())
    contents[boot_id.offset] ^= 1
    ring.write_bytes(contents)
    with pytest.raises(slipring.Corrupt, match="before this machine's last start"):
        reader.restart()


def test_a_topic_that_is_gone_is_named(driven, bus, imu, cmd):
    reader = driven(subscribe="imu", startingOffsets="earliest")
    pattern = driven(subscribePattern="i.u", startingOffsets="earliest", failOnDataLoss="false")
    reader.batch()
    pattern.batch()
    imu.close()
    bus.remove("imu")
    with pytest.raises(TopicReplaced, match="and it is gone"):
        reader.log()
    assert pattern.batch() == []
    bus.publisher("imu").send(b"fresh")
    assert values(pattern.batch()) == [b"fresh"]


def test_a_pattern_picks_up_new_topics_from_their_first_message(driven, bus, imu, cmd):
    reader = driven(subscribePattern="(imu|cmd|new-.*)", groupId="g", startingOffsets="latest")
    assert reader.batch() == []
    new = bus.publisher("new-1", delivery="reliable")
    new.send_many([b"a", b"b"])
    bus.publisher("other").send(b"x")
    assert [(row["topic"], row["offset"]) for row in reader.batch()] == [("new-1", 0), ("new-1", 1)]
    reader.restart()  # before anything was committed
    assert values(reader.read()) == [b"a", b"b"]
    assert bus.cursors("new-1")[0]["position"] == 0
    assert reader.batch() == []


def test_what_a_new_topic_lost_before_it_was_found_is_loss(driven, bus, imu):
    reader = driven(subscribePattern=".*")
    reader.batch()
    bus.publisher("new", capacity=4096, slots=16).send_many([b"x"] * 100)
    with pytest.raises(DataLoss, match=r"messages of \[0, 100\) of topic 'new'"):
        reader.batch()


def test_topics_that_joined_the_list_begin_where_the_options_say(driven, bus, imu, cmd):
    reader = driven(subscribe="imu", startingOffsets="earliest", groupId="g")
    reader.batch()
    reader.restart(subscribe="imu,cmd", startingOffsets='{"cmd": 7}')
    assert [(row["topic"], row["offset"]) for row in reader.batch()] == [("cmd", 7), ("cmd", 8), ("cmd", 9)]
    reader.restart(subscribe="imu", startingOffsets="latest")
    assert len(reader.read()) == 3  # a logged batch is read as it was logged


# Loss


def test_loss_on_a_lossy_topic_stops_the_query(driven, bus, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    reader.batch()
    imu.send_many([b"x"] * 100)
    with pytest.raises(DataLoss, match=r"\d+ messages of \[4, 10\d\) of topic 'imu'.*larger capacity"):
        reader.batch()


def test_loss_is_skipped_and_counted_or_shown_as_rows(driven, bus, imu):
    columns = "offset,value,span,lost"
    options = {
        "subscribe": "imu",
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",
        "columns": columns,
    }
    skipping, showing = driven(**options), driven(**options, includeGaps="true")
    for reader in (skipping, showing):
        assert len(reader.batch()) == 10
    imu.send_many([b"x"] * 100)
    with imu.loan(8) as view, pytest.raises(ZeroDivisionError), imu.loan(8):
        view[:] = b"y" * 8
        1 / 0  # noqa: B018 - an abandoned sequence is no loss
    rows, shown = skipping.batch(), showing.batch()
    oldest = bus.stats("imu")["oldest"]
    assert [row["offset"] for row in rows] == list(range(oldest, 111))
    skipping.log()
    assert skipping.reader.reportLatestOffset()["lost"] == {"imu": oldest - 10}
    assert shown[0] == {"offset": 10, "value": None, "span": oldest - 10, "lost": oldest - 10}
    assert shown[-1] == {"offset": 111, "value": None, "span": 1, "lost": 0}
    assert [row for row in shown if row["value"] is not None] == rows


# How much


def test_rows_and_bytes_are_limited_and_shared(driven, bus, imu, cmd):
    reader = driven(subscribe="imu,cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=8)
    assert [(row["topic"], row["offset"]) for row in reader.batch()] == [
        *(("cmd", n) for n in range(4)),
        *(("imu", n) for n in range(4)),
    ]
    small = driven(subscribe="imu", startingOffsets="earliest", maxBytesPerTrigger=3)
    assert [len(small.batch()) for _ in range(4)] == [3, 3, 3, 1]
    assert len(driven(subscribe="imu", startingOffsets="earliest", maxBytesPerTrigger=1).everything()) == 10


def test_one_topic_is_split_over_tasks(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", minPartitions=4)
    assert [row["offset"] for row in reader.batch()] == list(range(10)) and reader.partitions == 4
    reader = driven(subscribe="imu", startingOffsets="earliest", maxRecordsPerPartition=3)
    assert [row["offset"] for row in reader.batch()] == list(range(10)) and reader.partitions == 4


def test_a_batch_waits_for_enough_messages_or_long_enough(driven, imu):
    reader = driven(
        subscribe="imu", startingOffsets="earliest", minOffsetsPerTrigger=11, maxTriggerDelay="1h"
    )
    assert reader.batch() == []
    imu.send(b"eleventh")
    assert len(reader.batch()) == 11
    reader = driven(
        subscribe="imu", startingOffsets="earliest", minOffsetsPerTrigger=99, maxTriggerDelay="1ms"
    )
    reader.start_of(0)
    eventually(reader.batch, "the delay to pass")


def test_an_available_now_run_ends_at_what_was_there(driven, bus, imu):
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 4, "minOffsetsPerTrigger": 3}
    reader = driven(subscribePattern="imu|late", **options)
    reader.reader.prepareForTriggerAvailableNow()
    imu.send_many([b"late"] * 3)
    bus.publisher("late").send(b"x")
    assert [len(reader.batch()) for _ in range(4)] == [4, 4, 2, 0]
    reader.restart()
    reader.reader.prepareForTriggerAvailableNow()
    assert [len(reader.batch()) for _ in range(2)] == [4, 0]


def test_only_what_is_settled_is_read(driven, bus, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest")
    with imu.loan(8) as view:
        imu.send(b"behind")
        assert len(reader.batch()) == 10
        view[:] = b"settled."
    assert values(reader.batch()) == [b"settled.", b"behind"]


def test_the_report_tells_where_the_stream_could_be(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    assert reader.reader.reportLatestOffset() is None
    reader.batch()
    assert reader.reader.reportLatestOffset()["topics"]["imu"]["next"] == 10


# Places


def test_a_task_on_another_host_says_where_the_topic_is(driven, imu, monkeypatch):
    reader = driven(subscribe="imu", startingOffsets="earliest")
    reader.log()
    (task,) = reader.reader.partitions(reader.start_of(0), reader.logged[0])
    task.host, task.boot = "robot-7", "0" * 8
    with pytest.raises(OtherHost, match=r"memory of host robot-7.*run the executors on robot-7"):
        list(reader.reader.read(task))


def test_a_task_that_does_not_see_the_bus_says_so(driven, imu, bus):
    reader = driven(subscribe="imu", startingOffsets="earliest")
    reader.log()
    (task,) = reader.reader.partitions(reader.start_of(0), reader.logged[0])
    reader.reader._options = dataclasses.replace(reader.reader._options, root="/nowhere")
    with pytest.raises(OtherHost, match="a container has a /dev/shm of its own"):
        list(reader.reader.read(task))


def test_losses_of_a_task_that_was_tried_again_count_once():
    tally = Tally()
    piece, other = plan.Range("imu", 1, 0, 100), plan.Range("imu", 1, 100, 200)
    for lost, task in ((3, piece), (5, piece), (5, piece), (2, other)):
        assert add(tally.path, task, lost)
    assert tally.by_topic() == {"imu": 7} == tally.by_topic()
    tally.close()
    assert not add("/proc/0/fd/0", piece, 1)


def test_every_failure_has_its_own_class_and_names_an_option():
    named = [failures.DataLoss("x"), failures.CursorGone("t", "g"), failures.BadValue("t", 1, "why")]
    assert all(error.argument for error in named)
