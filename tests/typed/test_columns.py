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


def test_a_structured_array_is_sent_as_one_message_for_each_record(fixed):
    pub, sub = fixed
    array = _some(1000)
    assert pub.send_many(array, type="x") == 999
    messages = sub.recv_many(2000)
    assert [m.body for m in messages] == [record.tobytes() for record in array]
    assert messages[7].value == array[7] and messages[7].type == "x"
    assert pub.send_many(array[:0]) is None
    assert pub.send_many(array[::2]) == 1499, "an array with gaps is sent as well"
    assert [m.value["t"] for m in sub.recv_many(2000)] == list(array["t"][::2])


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


def test_an_array_of_another_dtype_is_refused_before_anything_is_claimed(fixed):
    pub, sub = fixed
    for array in (np.zeros(3, "<f8"), np.zeros(3, np.dtype([("t", "<f4")])), np.zeros((3, 2), IMU)):
        with pytest.raises(slipring.BadArgument, match="topic 'fixed': an array of messages has dtype"):
            pub.send_many(array)
    assert sub.lag == 0


def test_a_record_batch_is_sent_by_column_names(fixed):
    pub, sub = fixed
    array = _some(5)
    pub.send_many(array)
    batch = sub.recv_batch(decode=True)
    pub.send_many(batch.select(["ok", "acc", "t"]))
    pub.send_many(pa.Table.from_batches([batch.select(["ok", "acc", "t"])] * 2))
    assert [m.body for m in sub.recv_many(99)] == [record.tobytes() for record in array] * 3
    with pytest.raises(slipring.BadArgument, match="column acc is missing"):
        pub.send_many(batch.select(["ok", "t"]))
    with pytest.raises(slipring.BadArgument, match="column more is not in the schema"):
        pub.send_many(batch.select(["ok", "t", "acc"]).append_column("more", pa.array([1] * 5)))
    nulls = pa.record_batch({"t": pa.array([None], pa.float64()), "acc": [[1.0, 2.0, 3.0]], "ok": [True]})
    with pytest.raises(slipring.BadArgument, match="column t has NULL"):
        pub.send_many(nulls)
    assert sub.lag == 0


def test_a_record_batch_is_sent_to_a_topic_of_objects(bus):
    pub, sub = bus.publisher("imu", schema=Imu), bus.subscriber("imu", schema=Imu)
    pub.send_many(pa.record_batch({"t": [1.0, 2.0], "acc": [[1.0, 2.0, 3.0]] * 2}))
    assert [m.value for m in sub.recv_many()] == [Imu(1.0, (1.0, 2.0, 3.0)), Imu(2.0, (1.0, 2.0, 3.0))]


def test_a_decoded_batch_has_a_column_for_each_field(fixed):
    pub, sub = fixed
    pub.send_many(_some(4), type="x")
    batch = sub.recv_batch(decode=True)
    assert batch.schema.names == [*HEAD, "t", "acc", "ok"]
    assert batch.column("acc").to_pylist()[1] == [3.0, 4.0, 5.0]
    assert batch.column("offset").to_pylist() == [0, 1, 2, 3]
    assert set(batch.column("sender").to_pylist()) == {"gyro"}
    assert sub.recv_batch(decode=True).num_rows == 0
    assert sub.recv_batch(decode=True).schema == batch.schema


def test_decoding_an_untyped_topic_leaves_the_value(bus):
    sub = bus.subscriber("raw")
    bus.publisher("raw").send(b"x")
    assert sub.recv_batch(decode=True).column("value").to_pylist() == [b"x"]


def test_columns_follow_the_class_of_the_subscriber(bus):
    @dataclass
    class View:
        acc: list[float]
        note: str = "none"

    pub, sub = bus.publisher("imu", schema=Imu), bus.subscriber("imu", schema=View)
    pub.send(Imu(1.0, (1.0, 2.0, 3.0)))
    batch = sub.recv_batch(decode=True)
    assert batch.select(["acc", "note"]).to_pylist() == [{"acc": [1.0, 2.0, 3.0], "note": "none"}]


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


def test_a_bad_message_has_no_row_and_its_error_has_the_others(fixed):
    pub, sub = fixed
    pub.send_many(_some(2))
    pub.send_raw(b"short")
    pub.send_raw(b"bad")
    pub.send_many(_some(2))
    with pytest.raises(
        slipring.Undecodable, match="topic 'fixed', sequence 2: the body has 5 bytes"
    ) as caught:
        sub.recv_batch(decode=True)
    assert caught.value.batch.column("offset").to_pylist() == [0, 1, 4, 5]
    assert "1 more" in caught.value.__notes__[0]
    pub.send_many(_some(1))
    assert sub.recv_batch(decode=True).column("offset").to_pylist() == [6]


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


def test_a_stream_gives_the_good_rows_before_the_error(fixed):
    pub, sub = fixed
    pub.send_many(_some(2))
    pub.send_raw(b"bad")
    pub.send_many(_some(1))
    batches = iter(sub.stream())
    assert next(batches).column("offset").to_pylist() == [0, 1, 3]
    with pytest.raises(slipring.Undecodable, match="sequence 2"):
        next(batches)
    pub.send_many(_some(1))
    assert pa.table(sub.stream()).num_rows == 1


def test_a_stream_of_a_topic_that_does_not_exist_has_no_columns(bus):
    with pytest.raises(slipring.TopicNotFound, match="create it first"):
        bus.subscriber("later").stream().__arrow_c_stream__()


def test_a_stream_of_an_untyped_topic_has_bodies(bus):
    sub = bus.subscriber("raw")
    bus.publisher("raw").send_many([b"a", b"b"])
    assert pa.table(sub.stream()).column("value").to_pylist() == [b"a", b"b"]


def test_a_record_is_filled_in_place(fixed):
    pub, sub = fixed
    with pub.loan(type="x") as record:
        assert record["t"] == 0.0 and not record["ok"], "it begins with zeros"
        record["t"] = 2.5
        record["acc"] = 1.0, 2.0, 3.0
        record["acc"][1] = 20.0
    message = sub.recv(0)
    assert message.value["acc"].tolist() == [1.0, 20.0, 3.0] and message.type == "x"
    assert record["t"] == 2.5, "the record may be kept"
    with pytest.raises(ValueError, match="read-only"):
        record["t"] = 3.0


def test_a_kept_record_does_not_follow_the_ring(bus):
    pub = bus.publisher("n", schema=np.dtype([("n", "<i8")]), capacity=4096, slots=16)
    with pub.loan() as record:
        record["n"] = 7
    for number in range(100):
        pub.send({"n": number})
    assert record["n"] == 7


def test_a_loan_is_aborted_by_an_exception_and_refused_with_slices_left(fixed):
    pub, sub = fixed
    with pytest.raises(ZeroDivisionError), pub.loan() as record:
        record["t"] = 1 / 0
    with pytest.raises(BufferError, match="nothing was sent"), pub.loan() as record:
        part = record["acc"]
    assert sub.recv(0) is None
    part[0] = 1.0
    del part
    pub.send_many(_some(1))
    assert sub.recv(0).value["t"] == 0.0


def test_a_loan_needs_a_fixed_layout_and_has_no_size(bus, fixed):
    with pytest.raises(slipring.BadArgument, match=r"call loan\(\) without size"):
        fixed[0].loan(100)
    with pytest.raises(slipring.BadArgument, match="without a fixed layout"):
        bus.publisher("imu", schema=Imu).loan()


def test_an_array_of_messages_and_a_subarray_dtype_work(bus):
    kind = np.dtype(("<f4", (2, 3)))
    pub, sub = bus.publisher("grid", schema=kind), bus.subscriber("grid")
    array = np.arange(12, dtype="<f4").reshape(2, 2, 3)
    pub.send_many(array)
    with pub.loan() as record:
        record[...] = array[1]
    assert [m.value.tolist() for m in sub.recv_many()] == [
        array[0].tolist(),
        array[1].tolist(),
        array[1].tolist(),
    ]
