# SPDX-License-Identifier: Apache-2.0
"""The stream reader, called in Spark's order, with replaced, removed and new topics, and with loss."""

from pathlib import Path

import pytest

import slipring
from layout import document
from slipring.spark.errors import DataLoss, TopicReplaced
from spark.source.readers import values


def recreate(bus, publisher, delivery):
    publisher.close()
    topic = publisher.topic
    bus.remove(topic)
    fresh = bus.publisher(topic, delivery=delivery, capacity=4096, slots=16)
    fresh.send_many([b"fresh"] * 3)
    return fresh


@pytest.mark.parametrize("topic", ["imu", "cmd"])
def test_a_replaced_topic_is_named(driven, bus, imu, cmd, topic):
    group = {"groupId": "g"} if topic == "cmd" else {}
    reader = driven(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=4, **group)
    reader.batch()
    recreate(bus, {"imu": imu, "cmd": cmd}[topic], "reliable" if group else "lossy")
    with pytest.raises(
        TopicReplaced, match=rf"topic '{topic}' was removed, re-created.*generation [0-9a-f]{{16}}"
    ):
        reader.log()
    with pytest.raises(TopicReplaced):
        reader.read()  # in the process that had the topic open
    reader.restart()
    with pytest.raises(TopicReplaced):
        reader.read()  # and in one that opens it later
    reader.restart(failOnDataLoss="false")
    assert reader.read() == []
    assert values(reader.batch()) == [b"fresh"] * 3
    assert reader.batch() == []
    assert reader.reader.reportLatestOffset()["lost"] == {topic: 4}


HOLES = {
    "failOnDataLoss": "false",
    "includeGaps": "true",
    "columns": "topic,offset,value,span,lost,generation",
}


@pytest.mark.parametrize("how", ["removed", "replaced"])
@pytest.mark.parametrize("topic", ["imu", "cmd"])
def test_messages_missing_from_a_batch_are_a_gap(driven, bus, imu, cmd, topic, how):
    reader = driven(subscribe=topic, startingOffsets="earliest", groupId="g", **HOLES)
    old = bus.stats(topic)["generation"]
    reader.log()
    publisher = {"imu": imu, "cmd": cmd}[topic]
    if how == "replaced":
        recreate(bus, publisher, "lossy" if topic == "imu" else "reliable")
    else:
        publisher.close()
        bus.remove(topic)
    (hole,) = reader.read()
    generation = hole.pop("generation")
    assert generation % 2**64 == old
    assert hole == {"topic": topic, "offset": 0, "value": None, "span": 10, "lost": 10}
    assert reader.batch() == [] or how == "replaced"
    assert reader.reader.reportLatestOffset()["lost"] == {topic: 10}


@pytest.mark.parametrize("subscribed", [{"subscribe": "cmd"}, {"subscribePattern": "c.d"}])
def test_messages_of_a_reliable_topic_that_was_removed_unread_are_counted(driven, bus, cmd, subscribed):
    reader = driven(startingOffsets="earliest", groupId="g", maxOffsetsPerTrigger=4, **subscribed, **HOLES)
    assert len(reader.batch()) == 4
    cmd.send_many([b"more"] * 3)
    recreate(bus, cmd, "reliable")
    (hole,) = reader.batch()
    assert (hole["offset"], hole["span"], hole["lost"], hole["value"]) == (4, 9, 9, None)
    assert values(reader.batch()) == [b"fresh"] * 3


def test_a_topic_removed_during_a_read_leaves_a_gap_after_the_read_messages(driven, bus, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", batchBytes=16, **HOLES)
    reader.log()
    (task,) = reader.reader.partitions(reader.start_of(0), reader.logged[0])
    batches = reader.reader.read(task)
    rows = next(batches).to_pylist()
    imu.close()
    bus.remove("imu")
    rows += [row for batch in batches for row in batch.to_pylist()]
    assert sum(row["span"] for row in rows) == 10
    assert [row["offset"] for row in rows] == list(range(len(rows)))
    assert reader.reader.reportLatestOffset().get("lost", {}).get("imu", 0) == sum(
        row["lost"] for row in rows
    )


def test_a_gap_of_a_removed_topic_has_the_decoded_columns_too(driven, bus):
    bus.publisher("j").send_many([b'{"x": 1}'] * 3)
    options = {"valueFormat": "json", "valueSchema": "x INT", "columns": "offset,lost"}
    reader = driven(subscribe="j", startingOffsets="earliest", **{**HOLES, **options})
    reader.log()
    bus.remove("j")
    assert reader.read() == [{"offset": 0, "lost": 3, "x": None}]


def test_a_topic_from_before_a_restart_of_the_host_is_named(driven, bus, imu):
    """Files on a disk outlive a restart of the host; their content is not read then."""
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


def test_a_removed_topic_is_named(driven, bus, imu, cmd):
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


def test_loss_on_a_new_topic_before_it_was_found_is_counted(driven, bus, imu):
    reader = driven(subscribePattern=".*")
    reader.batch()
    bus.publisher("new", capacity=4096, slots=16).send_many([b"x"] * 100)
    with pytest.raises(DataLoss, match=r"messages of \[0, 100\) of topic 'new'"):
        reader.batch()


def test_topics_added_to_the_list_begin_at_the_starting_offsets(driven, bus, imu, cmd):
    reader = driven(subscribe="imu", startingOffsets="earliest", groupId="g")
    reader.batch()
    reader.restart(subscribe="imu,cmd", startingOffsets='{"cmd": 7}')
    assert [(row["topic"], row["offset"]) for row in reader.batch()] == [("cmd", 7), ("cmd", 8), ("cmd", 9)]
    reader.restart(subscribe="imu", startingOffsets="latest")
    assert len(reader.read()) == 3  # a logged batch is read as it was logged


@pytest.mark.parametrize("named", ["subscribe", "subscribePattern"])
def test_a_topic_that_returns_to_the_list_continues_at_its_position(driven, bus, imu, cmd, named):
    both = "imu,cmd" if named == "subscribe" else "imu|cmd"
    reader = driven(**{named: both}, startingOffsets="earliest", groupId="g")
    assert len(reader.batch()) == 20
    reader.restart(**{named: "imu"})
    assert reader.batch() == []
    imu.send(b"between")
    cmd.send(b"kept")
    assert values(reader.batch()) == [b"between"]
    assert "cmd" not in reader.reader.reportLatestOffset()["topics"]
    reader.restart(**{named: both})
    assert [(row["topic"], row["value"]) for row in reader.batch()] == [("cmd", b"kept")]
    assert reader.batch() == []


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
