# SPDX-License-Identifier: Apache-2.0
"""The stream reader, called in Spark's order: start, limits, and processes that can read."""

import dataclasses
import json
from pathlib import Path

import pytest

from slipring.spark import errors as failures
from slipring.spark.bus_directory import BusDirectory
from slipring.spark.errors import BadOption, OtherHost
from slipring.spark.source import offset_ranges
from slipring.spark.source.loss_report import LossReport, add
from spark.source.readers import values
from support.waiting import eventually

# Start


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
def test_a_stream_begins_where_the_options_say_it_should(driven, imu, cmd, topic, options, first):
    options = {option: text.replace("%s", topic) for option, text in options.items()}
    reader = driven(subscribe=topic, **options, **({"groupId": "g"} if topic == "cmd" else {}))
    assert [row["offset"] for row in reader.batch()] == (list(range(first, 10)) if first is not None else [])
    {"imu": imu, "cmd": cmd}[topic].send(b"more")
    assert values(reader.batch()) == [b"more"]
    assert reader.batch() == []


def test_offsets_from_the_progress_of_a_query_are_valid_starting_offsets(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    assert len(reader.batch()) == 4
    again = driven(subscribe="imu", startingOffsets=json.dumps(reader.logged[0]))
    assert [row["offset"] for row in again.batch()] == list(range(4, 10))


def test_an_offset_that_is_not_published_yet_is_refused(driven, imu):
    with pytest.raises(BadOption, match="option startingOffsets: 11 of topic 'imu' is not published yet"):
        driven(subscribe="imu", startingOffsets='{"imu": 11}').batch()


def test_a_start_that_moved_between_the_two_calls_loses_nothing(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="latest")
    first = reader.start_of(0)
    imu.send_many([b"a", b"b"])
    reader.logged.append(reader.reader.latestOffset(first, reader.reader.getDefaultReadLimit()))
    reader.restart()  # before the batch was read; the new process alone would begin elsewhere
    imu.send(b"c")
    assert values(reader.read()) == [b"a", b"b"]
    assert values(reader.batch()) == [b"c"]


def test_a_reliable_topic_needs_a_group(driven, cmd):
    with pytest.raises(BadOption, match="option groupId: topic 'cmd' is reliable"):
        driven(subscribe="cmd").batch()


def test_a_new_query_continues_at_the_position_of_its_cursor(driven, bus, cmd):
    first = driven(subscribe="cmd", groupId="g", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    assert len(first.batch()) == 4
    first.reader.commit(first.logged[0])
    first.stop()
    again = driven(subscribe="cmd", groupId="g", startingOffsets="earliest")
    assert [row["offset"] for row in again.batch()] == list(range(4, 10))


# Limits


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


def test_a_batch_waits_for_enough_messages_or_until_the_delay_has_passed(driven, imu):
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


def test_an_available_now_run_ends_with_the_messages_present_at_its_start(driven, bus, imu):
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 4, "minOffsetsPerTrigger": 3}
    reader = driven(subscribePattern="imu|late", **options)
    reader.reader.prepareForTriggerAvailableNow()
    imu.send_many([b"late"] * 3)
    bus.publisher("late").send(b"x")
    assert [len(reader.batch()) for _ in range(4)] == [4, 4, 2, 0]
    reader.restart()
    reader.reader.prepareForTriggerAvailableNow()
    assert [len(reader.batch()) for _ in range(2)] == [4, 0]


def test_only_committed_messages_are_read(driven, bus, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest")
    with imu.loan(8) as view:
        imu.send(b"behind")
        assert len(reader.batch()) == 10
        view[:] = b"settled."
    assert values(reader.batch()) == [b"settled.", b"behind"]


def test_the_report_gives_the_offsets_up_to_which_the_stream_could_read(driven, imu):
    reader = driven(subscribe="imu", startingOffsets="earliest", maxOffsetsPerTrigger=4)
    assert reader.reader.reportLatestOffset() is None
    reader.batch()
    assert reader.reader.reportLatestOffset()["topics"]["imu"]["next"] == 10


# Processes


def test_a_task_on_another_host_names_the_host_of_the_topic(driven, imu, monkeypatch):
    reader = driven(subscribe="imu", startingOffsets="earliest")
    reader.log()
    (task,) = reader.reader.partitions(reader.start_of(0), reader.logged[0])
    task.bus = dataclasses.replace(task.bus, host="robot-7", boot="0" * 8)
    with pytest.raises(OtherHost, match=r"memory of host robot-7.*run the executors on robot-7"):
        list(reader.reader.read(task))


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_task_that_does_not_see_the_bus_fails_also_if_loss_is_allowed(driven, imu, fail):
    """The same kernel with another directory at that path, as in a container."""
    reader = driven(subscribe="imu", startingOffsets="earliest", failOnDataLoss=fail, includeGaps="true")
    reader.log()
    (task,) = reader.reader.partitions(reader.start_of(0), reader.logged[0])
    device, inode = task.bus.above_identity
    task.bus = dataclasses.replace(
        task.bus, identity=(device + 1, inode + 1), above_identity=(device + 1, inode)
    )
    with pytest.raises(OtherHost, match="does not have it"):
        list(reader.reader.read(task))


def test_a_bus_directory_is_identified_by_its_inode_and_not_by_its_path(bus, imu, tmp_path):
    noted = BusDirectory.of(bus.path)
    assert noted.is_seen_here() and noted.is_seen_under("/proc/self/root")
    assert not noted.is_seen_under(str(tmp_path))
    imu.close()
    bus.remove("imu")
    Path(bus.path).rmdir()
    assert noted.is_seen_here()  # removed from the same place
    bus.create("imu")
    assert noted.is_seen_here()  # and created again
    assert BusDirectory.of(f"{tmp_path}/not/yet").is_seen_here()


def test_losses_of_a_retried_task_count_once():
    report = LossReport()
    piece, other = offset_ranges.Range("imu", 1, 0, 100), offset_ranges.Range("imu", 1, 100, 200)
    for lost, task in ((3, piece), (5, piece), (5, piece), (2, other)):
        assert add(report.path, task, lost)
    assert report.by_topic() == {"imu": 7} == report.by_topic()
    report.close()
    assert not add("/proc/0/fd/0", piece, 1)


def test_every_error_has_its_own_class_and_names_an_option():
    named = [failures.DataLoss("x"), failures.CursorGone("t", "g"), failures.BadValue("t", 1, "why")]
    assert all(error.argument for error in named)
