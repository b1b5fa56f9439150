# SPDX-License-Identifier: Apache-2.0
"""Ranges: every sequence comes out once, as a message or in a gap with the exact loss."""

import struct
import threading

import pytest

import slipring
from slipring._bus.ranges import COLUMNS, RangeReader

ALL = (*COLUMNS,)


def rows(reader, start, end, **how):
    found = []
    for batch in reader.batches(start, end, columns=ALL, **how):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


def assert_contiguous(found, start, end):
    at = start
    for row in found:
        assert row["offset"] == at
        at += row["span"]
        assert row["lost"] <= row["span"]
        assert (row["value"] is None) or (row["span"] == 1 and row["lost"] == 0)
    assert at == end


def test_messages_come_out_with_every_column_that_is_asked_for(bus):
    publisher = bus.publisher("t", sender="gyro")
    for i in range(5):
        publisher.send(bytes([i]) * i, type=f"type-{i % 2}")
    with RangeReader(bus, "t") as reader:
        found = rows(reader, 1, 4)
        assert [row["value"] for row in found] == [b"\1", b"\2\2", b"\3\3\3"]
        assert [row["type"] for row in found] == ["type-1", "type-0", "type-1"]
        assert {row["sender"] for row in found} == {"gyro"}
        assert {row["topic"] for row in found} == {"t"}
        assert all(row["timestamp_ns"] // 1000 == int(row["timestamp"].timestamp() * 1e6) for row in found)
        assert all(row["received_ns"] >= row["timestamp_ns"] for row in found)
        assert {row["generation"] % 2**64 for row in found} == {bus.stats("t")["generation"]}
        assert_contiguous(found, 1, 4)
        (batch,) = reader.batches(0, 5, columns=["value", "offset"])
        assert batch.schema.names == ["value", "offset"]
        assert all(field.nullable for field in batch.schema)


def test_batches_are_closed_by_bytes_and_lose_no_row_between_them(bus):
    publisher = bus.publisher("t")
    for i in range(1000):
        publisher.send(struct.pack("q", i) * 8)
    with RangeReader(bus, "t") as reader:
        batches = list(reader.batches(0, 1000, size=8000))
        assert len(batches) == 10
        assert [o for b in batches for o in b["offset"].to_pylist()] == list(range(1000))


def test_what_is_committed_ends_before_a_claim_that_is_still_open(bus):
    publisher = bus.publisher("t")
    publisher.send(b"a")
    with RangeReader(bus, "t") as reader:
        with publisher.loan(8) as view:
            publisher.send(b"after")
            assert reader.settled_end(0) == 1
            view[:] = bytes(8)
        assert reader.settled_end(0) == 3


def test_limits_of_rows_and_bytes_leave_one_at_least(bus):
    publisher = bus.publisher("t")
    for _ in range(10):
        publisher.send(bytes(100))
    with RangeReader(bus, "t") as reader:
        assert reader.settled_end(0, rows=3) == 3
        assert reader.settled_end(2, size=250) == 4
        assert reader.settled_end(2, size=1) == 3
        assert reader.settled_end(10) == 10


def test_an_aborted_loan_is_a_hole_without_loss(bus):
    publisher = bus.publisher("t")
    publisher.send(b"a")
    with pytest.raises(RuntimeError), publisher.loan(8):
        raise RuntimeError
    publisher.send(b"b")
    with RangeReader(bus, "t") as reader:
        found = rows(reader, 0, 3, gaps=True)
        assert_contiguous(found, 0, 3)
        assert [(row["value"], row["lost"]) for row in found] == [(b"a", 0), (None, 0), (b"b", 0)]
        assert found[1]["sender"] is found[1]["type"] is found[1]["timestamp"] is None
        assert [row["value"] for row in rows(reader, 0, 3)] == [b"a", b"b"]
        assert reader.lost == 0


def test_an_aborted_loan_at_the_end_of_a_range_belongs_to_it(bus):
    publisher = bus.publisher("t")
    with pytest.raises(RuntimeError), publisher.loan(8):
        raise RuntimeError
    publisher.send(b"b")
    with RangeReader(bus, "t") as reader:
        assert_contiguous(rows(reader, 0, 1, gaps=True), 0, 1)


def test_what_was_overwritten_is_counted_in_the_range_it_belongs_to(bus):
    publisher = bus.publisher("t", capacity="64KiB", slots=64)
    aborted = 0
    for i in range(500):
        if i % 10 == 3:
            aborted += 1
            with pytest.raises(RuntimeError), publisher.loan(8):
                raise RuntimeError
        else:
            publisher.send(struct.pack("q", i))
    with RangeReader(bus, "t") as reader:
        lost = got = 0
        for start in range(0, 500, 50):  # some wholly gone, one half gone, one whole
            found = rows(reader, start, start + 50, gaps=True)
            assert_contiguous(found, start, start + 50)
            lost += sum(row["lost"] for row in found)
            got += sum(row["value"] is not None for row in found)
        assert reader.lost == lost > 0
        assert lost + got == 500 - aborted


def test_a_fast_publisher_cannot_make_a_reader_of_ranges_wrong(bus):
    publisher = bus.publisher("t", capacity="64KiB", slots=256)
    stop = threading.Event()

    def publish():
        i = 0
        while not stop.is_set():
            publisher.send_many([struct.pack("q", i + k) * 20 for k in range(50)])
            i += 50

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        with RangeReader(bus, "t") as reader:
            at, lost = 0, 0
            while at < 30_000 or lost == 0:
                end = reader.settled_end(at)
                found = rows(reader, at, end, gaps=True, size=4096)
                assert_contiguous(found, at, end)
                for row in found:
                    assert row["value"] is None or row["value"] == struct.pack("q", row["offset"]) * 20
                lost = reader.lost
                at = end
    finally:
        stop.set()
        thread.join()


def test_times_find_their_sequence(bus):
    publisher = bus.publisher("t")
    for time_ns in (100, 200, 300):
        publisher._send_as(b"x", "", "", time_ns, None)
    with RangeReader(bus, "t") as reader:
        assert [reader.at_time(t) for t in (0, 100, 101, 300, 301)] == [0, 0, 1, 2, 3]


def test_wrong_ranges_are_errors_that_name_the_argument(bus):
    bus.publisher("t").send(b"x")
    with pytest.raises(slipring.TopicNotFound):
        RangeReader(bus, "missing")
    with RangeReader(bus, "t") as reader:
        with pytest.raises(slipring.BadArgument) as caught:
            list(reader.batches(0, 2))
        assert caught.value.argument == "end"
        with pytest.raises(slipring.BadArgument) as caught:
            list(reader.batches(0, 1, columns=["nonsense"]))
        assert caught.value.argument == "columns"
        assert list(reader.batches(0, 0)) == []
    with pytest.raises(slipring.Closed):
        reader.oldest()


def test_a_removed_topic_is_noticed(bus):
    bus.publisher("t").send(b"x")
    with RangeReader(bus, "t") as reader:
        bus.remove("t")
        with pytest.raises(slipring.TopicGone):
            reader.settled_end(0)
        with pytest.raises(slipring.TopicGone):
            list(reader.batches(0, 1))


def test_a_range_takes_no_entry_and_holds_nothing_back(bus):
    publisher = bus.publisher("t", delivery="reliable", capacity="64KiB")
    publisher.send(b"x")
    with RangeReader(bus, "t") as reader:
        assert bus.stats("t")["readers"] == []
        for _ in range(5000):
            publisher.send(bytes(64))
        assert reader.oldest() > 0
