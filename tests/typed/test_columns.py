# SPDX-License-Identifier: Apache-2.0
"""Arrays, batches and streams: many messages at once, with a column for each field."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import slipring

IMU = np.dtype([("t", "<f8"), ("acc", "<f8", (3,)), ("ok", "?")])


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


HEAD = ["topic", "offset", "timestamp", "sender", "type"]


@pytest.fixture
def fixed(bus):
    return bus.publisher("fixed", "gyro", schema=IMU), bus.subscriber("fixed")


def _some(count):
    array = np.zeros(count, IMU)
    array["t"] = np.arange(count)
    array["acc"] = np.arange(3 * count).reshape(count, 3)
    array["ok"] = np.arange(count) % 2 == 0
    return array


def test_records_scalars_and_dicts_are_messages_of_a_dtype(bus, fixed):
    pub, sub = fixed
    pub.send(_some(3)[2])
    pub.send({"t": 2.0, "acc": [6.0, 7.0, 8.0], "ok": True})
    assert sub.recv(0).body == sub.recv(0).body
    numbers, found = bus.publisher("n", schema=np.dtype("<i4")), bus.subscriber("n")
    numbers.send(np.int32(-3))
    numbers.send(5)
    assert [m.value for m in found.recv_many()] == [-3, 5]
    with pytest.raises(slipring.BadArgument, match=r"topic 'n'.*int32"):
        numbers.send(1 << 31)


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Path:
    start: Point
    points: list[Point]
    end: Point | None
    corners: tuple[Point, Point]
    named: dict[str, Point]


@dataclass
class Flat:
    x: float
    z: int = 5


@dataclass
class FlatPath:
    start: Flat
    points: list[Flat]
    end: Flat | None
    corners: list[Flat]
    named: dict[str, Flat]
    more: list[int] | None = None


def test_columns_follow_a_class_that_differs_inside_of_structures(bus):
    pub, sub = bus.publisher("path", schema=Path), bus.subscriber("path", schema=FlatPath)
    first = Point(1.0, 2.0)
    pub.send(Path(first, [first, first], None, (first, first), {"a": first}))
    pub.send(Path(first, [], first, (first, first), {}))
    seen = bus.subscriber("path", schema=FlatPath, start="oldest").recv_many()
    flat = {"x": 1.0, "z": 5}
    rows = (
        sub.recv_batch(decode=True).select(["start", "points", "end", "corners", "named", "more"]).to_pylist()
    )
    assert [row["points"] for row in rows] == [[flat, flat], []]
    assert [row["end"] for row in rows] == [None, flat]
    assert rows[0]["start"] == flat and rows[1]["corners"] == [flat, flat] and rows[0]["more"] is None
    assert rows[0]["named"] == [("a", flat)]
    assert [message.value.start for message in seen] == [Flat(1.0), Flat(1.0)]
    assert sub.recv_batch(decode=True).num_rows == 0


def test_a_stream_is_read_by_pyarrow_duckdb_and_polars(fixed):
    import duckdb
    import polars

    pub, sub = fixed
    pub.send_many(_some(100))
    table = pa.table(sub.stream(rows=30))
    assert table.num_rows == 100 and table.schema.names == [*HEAD, "t", "acc", "ok"]
    pub.send_many(_some(100))
    stream = sub.stream()
    assert duckdb.sql("SELECT count(*), max(t), sum(acc[1]) FROM stream").fetchall() == [(100, 99.0, 14850.0)]
    assert stream is not None
    pub.send_many(_some(100))
    assert polars.DataFrame(sub.stream())["t"].max() == 99.0


def test_a_stream_ends_after_so_many_messages_and_when_the_subscriber_is_closed(bus, fixed, background):
    pub, sub = fixed
    pub.send_many(_some(10))
    assert sum(batch.num_rows for batch in sub.stream(7, rows=2)) == 7
    assert sub.lag == 3
    seen = []

    def read():
        for batch in sub.stream(timeout=None):
            seen.append(batch.num_rows)

    reading = background(read)
    while sub.lag or not seen:
        pass
    sub.close()
    reading.result()
    assert sum(seen) == 3


def test_a_stream_of_a_topic_that_does_not_exist_has_no_columns(bus):
    with pytest.raises(slipring.TopicNotFound, match="create it first"):
        bus.subscriber("later").stream().__arrow_c_stream__()


def test_a_stream_of_an_untyped_topic_has_bodies(bus):
    sub = bus.subscriber("raw")
    bus.publisher("raw").send_many([b"a", b"b"])
    assert pa.table(sub.stream()).column("value").to_pylist() == [b"a", b"b"]


def test_a_kept_record_does_not_follow_the_ring(bus):
    pub = bus.publisher("n", schema=np.dtype([("n", "<i8")]), capacity=4096, slots=16)
    with pub.loan() as record:
        record["n"] = 7
    for number in range(100):
        pub.send({"n": number})
    assert record["n"] == 7


def test_each_batch_of_a_table_is_a_message_of_encoding_arrow(bus):
    columns = pa.schema([pa.field("t", pa.float64(), nullable=False), pa.field("name", pa.string())])
    pub, sub = bus.publisher("rows", schema=columns), bus.subscriber("rows")
    batch = pa.record_batch({"t": [1.0, 2.0], "name": ["a", None]}, schema=columns)
    assert pub.send_many(pa.Table.from_batches([batch, batch.slice(1)])) == 1
    assert [message.value.num_rows for message in sub.recv_many()] == [2, 1]
    assert pub.send_many(pa.Table.from_batches([], columns)) == 2, "an empty table is an empty message"


def test_the_columns_of_an_empty_table_are_checked(bus):
    pub = bus.publisher("imu", schema=Imu)
    assert (
        pub.send_many(
            pa.table({"t": pa.array([], pa.float64()), "acc": pa.array([], pa.list_(pa.float64()))})
        )
        is None
    )
    with pytest.raises(slipring.BadArgument, match="column acc is missing"):
        pub.send_many(pa.table({"t": pa.array([], pa.float64())}))
