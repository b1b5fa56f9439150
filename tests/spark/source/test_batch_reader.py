# SPDX-License-Identifier: Apache-2.0
"""Batch reads between offsets and times, without Spark."""

import pickle
import time

import pytest

from slipring.spark.errors import BadOption, DataLoss
from slipring.spark.source import tasks
from slipring.spark.source.data_source import DefaultSource


@pytest.fixture
def read(bus):
    def rows(meanwhile=lambda: None, **options):
        """Read a batch; call `meanwhile` between planning and reading."""
        source = DefaultSource({"bus": bus.name, "root": bus.root, **{k: str(v) for k, v in options.items()}})
        reader = source.reader(source.schema())
        parts = reader.partitions()
        meanwhile()
        copies = [pickle.loads(pickle.dumps((reader, part))) for part in parts]
        return [row for copy, part in copies for batch in copy.read(part) for row in batch.to_pylist()]

    yield rows
    while tasks._OPEN:
        tasks._OPEN.popitem()[1].close()


@pytest.fixture
def times(bus):
    """Make two topics; return the times at which the halves of the first one began."""
    imu, cmd = bus.publisher("imu", capacity=4096, slots=16), bus.publisher("cmd", delivery="reliable")
    begun = time.time_ns()
    imu.send_many([b"%d" % n for n in range(5)])
    eventually_ms = begun // 10**6 + 2
    while time.time_ns() // 10**6 < eventually_ms:  # the option has milliseconds
        pass
    later = time.time_ns()
    imu.send_many([b"%d" % n for n in range(5, 10)])
    cmd.send_many([b"c"] * 3)
    return begun, later


def offsets(rows, topic="imu"):
    return [row["offset"] for row in rows if row["topic"] == topic]


def test_a_batch_reads_the_messages_between_two_offsets(read, times):
    assert offsets(read(subscribe="imu")) == list(range(10))
    assert offsets(read(subscribe="imu", startingOffsets='{"imu": 3}', endingOffsets='{"imu": 7}')) == [
        3,
        4,
        5,
        6,
    ]
    rows = read(subscribePattern=".*", startingOffsets='{"imu": 8}', endingOffsets='{"cmd": 2}')
    assert offsets(rows) == [8, 9] and offsets(rows, "cmd") == [0, 1]
    assert read(subscribe="imu", startingOffsets='{"imu": 4}', endingOffsets='{"imu": 4}') == []


def test_a_batch_reads_the_messages_between_two_times(read, times):
    begun, later = (time_ns // 10**6 for time_ns in times)
    assert offsets(read(subscribe="imu", startingTimestamp=later)) == [5, 6, 7, 8, 9]
    assert offsets(read(subscribe="imu", startingTimestamp=begun, endingTimestamp=later)) == [0, 1, 2, 3, 4]
    assert read(subscribe="imu", startingTimestamp="2100-01-01T00:00:00Z") == []


def test_an_end_before_the_start_or_beyond_the_topic_is_named(read, times):
    with pytest.raises(
        BadOption, match="option endingOffsets: 3 of topic 'imu' is before startingOffsets, 7"
    ):
        read(subscribe="imu", startingOffsets='{"imu": 7}', endingOffsets='{"imu": 3}')
    with pytest.raises(BadOption, match="option endingOffsets: 99 of topic 'imu' is not published yet"):
        read(subscribe="imu", endingOffsets='{"imu": 99}')


def test_offsets_of_another_generation_are_named(read, times):
    other = '{"slipring": 1, "topics": {"imu": {"generation": "0000000000000001", "next": 1, "origin": 0}}}'
    with pytest.raises(BadOption, match="about generation 0000000000000001 of topic 'imu'"):
        read(subscribe="imu", startingOffsets=other)


def test_missing_messages_are_an_error_or_a_gap(read, bus, times):
    bus.publisher("imu").send_many([b"x"] * 100)
    with pytest.raises(DataLoss, match="were overwritten unread"):
        read(subscribe="imu", startingOffsets='{"imu": 0}')
    options = {"failOnDataLoss": "false", "includeGaps": "true", "columns": "topic,offset,lost"}
    first = read(subscribe="imu", startingOffsets='{"imu": 0}', **options)[0]
    assert first == {"topic": "imu", "offset": 0, "lost": bus.stats("imu")["oldest"]}


@pytest.mark.parametrize("given", [{}, {"startingOffsets": "earliest"}, {"endingOffsets": '{"imu": 10}'}])
@pytest.mark.parametrize("parts", [1, 4])
def test_without_a_given_start_a_batch_reads_the_messages_present_when_it_runs(
    read, bus, times, given, parts
):
    def overwrite():
        bus.publisher("imu").send_many([b"x"] * 12)

    found = offsets(read(overwrite, subscribe="imu", minPartitions=parts, **given))
    oldest, end = bus.stats("imu")["oldest"], 10 if "endingOffsets" in given else 22
    assert oldest > 0 and found == list(range(oldest, end))


@pytest.mark.parametrize("parts", [1, 4])
def test_a_batch_without_bounds_reads_a_ring_that_wrapped_after_planning(read, bus, times, parts):
    def go_round():
        bus.publisher("imu").send_many([b"later"] * 40)

    found = offsets(read(go_round, subscribe="imu", minPartitions=parts))
    assert found == list(range(bus.stats("imu")["oldest"], 50)) and len(found) > 4
    assert len(offsets(read(go_round, subscribe="imu", maxRecordsPerPartition=4))) == 4
    assert offsets(read(go_round, subscribe="imu", endingOffsets='{"imu": 90}')) == []


@pytest.mark.parametrize("given", [{"startingOffsets": '{"imu": 0}'}, {"startingTimestamp": "0"}])
def test_with_a_given_start_overwritten_messages_are_loss(read, bus, times, given):
    with pytest.raises(DataLoss, match="were overwritten unread"):
        read(lambda: bus.publisher("imu").send_many([b"x"] * 12), subscribe="imu", **given)


def test_a_pattern_that_matches_nothing_reads_nothing(read, times):
    assert read(subscribePattern="nothing") == []


def test_a_batch_moves_no_cursor_and_needs_no_group(read, bus, times):
    assert offsets(read(subscribe="cmd"), "cmd") == [0, 1, 2] == offsets(read(subscribe="cmd"), "cmd")
    assert bus.cursors("cmd") == []
