# SPDX-License-Identifier: Apache-2.0
"""Typed topics: arrays and batches are sent, batches and streams have a column for each field, records lie in place."""

import numpy as np
import pyarrow as pa
import pytest

import slipring
from conformance.typed.samples import FIXED, HEAD, SMALL, STILL, Fewer, Imu, numbered, records


@pytest.fixture
def fixed(bus):
    return bus.publisher("fixed", "gyro", schema=FIXED, **SMALL), bus.subscriber("fixed")


def test_a_structured_array_is_sent_as_one_message_for_each_record(fixed):
    pub, sub = fixed
    array = records(100)
    assert pub.send_many(array, type="x") == 99 and pub.send_many(array[:0]) is None
    messages = sub.recv_many(200)
    assert [message.body for message in messages] == [record.tobytes() for record in array]
    assert messages[7].value == array[7] and messages[7].type == "x"
    assert pub.send_many(array[::2]) == 149, "an array with gaps is sent as well"
    assert [message.value["t"] for message in sub.recv_many(200)] == list(array["t"][::2])


def test_an_array_of_another_dtype_is_refused_before_anything_is_claimed(fixed):
    pub, sub = fixed
    for array in (np.zeros(3, "<f8"), np.zeros(3, np.dtype([("t", "<f4")]))):
        with pytest.raises(slipring.BadArgument, match="topic 'fixed': an array of messages has dtype"):
            pub.send_many(array)
    assert pub.send(records(1)[0]) == 0 and sub.recv(0).seq == 0


def test_a_record_batch_is_sent_by_the_names_of_its_columns(fixed):
    pub, sub = fixed
    array = records(5)
    pub.send_many(array)
    batch = sub.recv_batch(decode=True)
    assert pub.send_many(batch.select(["ok", "acc", "t"])) == 9
    assert [message.body for message in sub.recv_many()] == [record.tobytes() for record in array]
    pub.send_many(pa.Table.from_batches([batch.select(["ok", "acc", "t"])] * 2))
    assert [message.body for message in sub.recv_many()] == [record.tobytes() for record in array] * 2
    more = batch.select(["ok", "t", "acc"]).append_column("more", pa.array([1] * 5))
    nulls = pa.record_batch({"t": pa.array([None], pa.float64()), "acc": [[1.0, 2.0, 3.0]], "ok": [True]})
    for rows, why in (
        (batch.select(["ok", "t"]), "column acc is missing"),
        (more, "column more is not in the schema"),
        (nulls, "column t has NULL"),
    ):
        with pytest.raises(slipring.BadArgument, match=why):
            pub.send_many(rows)
    assert sub.recv(0) is None


def test_a_record_batch_is_sent_to_a_topic_of_objects(bus):
    pub, sub = bus.publisher("imu", schema=Imu, **SMALL), bus.subscriber("imu", schema=Imu)
    pub.send_many(pa.record_batch({"t": [1.0, 2.0], "acc": [[1.0, 2.0, 3.0]] * 2}))
    assert [message.value for message in sub.recv_many()] == [Imu(t, (1.0, 2.0, 3.0)) for t in (1.0, 2.0)]


def test_a_decoded_batch_has_a_column_for_each_field(fixed):
    pub, sub = fixed
    pub.send_many(records(4), type="x")
    batch = sub.recv_batch(decode=True)
    assert batch.schema.names == [*HEAD, "t", "acc", "ok"]
    assert batch.column("acc").to_pylist()[1] == [3.0, 4.0, 5.0]
    assert batch.column("offset").to_pylist() == [0, 1, 2, 3]
    assert set(batch.column("sender").to_pylist()) == {"gyro"}
    empty = sub.recv_batch(decode=True)
    assert empty.num_rows == 0 and empty.schema == batch.schema


def test_a_batch_that_is_not_decoded_has_the_bodies(fixed):
    pub, sub = fixed
    pub.send_many(records(2))
    assert sub.recv_batch().column("value").to_pylist() == [record.tobytes() for record in records(2)]


def test_columns_follow_the_class_of_the_subscriber(bus):
    pub, sub = bus.publisher("imu", schema=Imu, **SMALL), bus.subscriber("imu", schema=Fewer)
    pub.send(STILL)
    found = sub.recv_batch(decode=True).select(["acc", "note"]).to_pylist()
    assert found == [{"acc": [0.1, 0.2, 9.8], "note": "none"}]


def test_a_bad_message_has_no_row_and_its_error_has_the_others(fixed):
    pub, sub = fixed
    pub.send_many(records(2))
    pub.send_raw(b"short")
    pub.send_many(records(2))
    with pytest.raises(slipring.Undecodable, match="topic 'fixed', sequence 2: the body has 5") as refused:
        sub.recv_batch(decode=True)
    assert refused.value.batch.column("offset").to_pylist() == [0, 1, 3, 4]
    pub.send_many(records(1))
    assert sub.recv_batch(decode=True).column("offset").to_pylist() == [5]


def test_a_subscriber_is_an_arrow_stream(bus, fixed):
    pub, sub = fixed
    pub.send_many(records(100))
    table = pa.table(sub.stream(rows=30))
    assert table.num_rows == 100 and table.schema.names == [*HEAD, "t", "acc", "ok"]
    pub.send_many(records(10))
    assert sum(batch.num_rows for batch in sub.stream(7, rows=2)) == 7
    assert pa.table(sub.stream(decode=False)).column("value").to_pylist() == [
        record.tobytes() for record in records(10)[7:]
    ]
    with pytest.raises(slipring.TopicNotFound, match="create it first"):
        bus.subscriber("later").stream().__arrow_c_stream__()


def test_a_stream_gives_the_good_rows_before_the_error(fixed):
    pub, sub = fixed
    pub.send_many(records(2))
    pub.send_raw(b"bad")
    pub.send_many(records(1))
    batches = iter(sub.stream())
    assert next(batches).column("offset").to_pylist() == [0, 1, 3]
    with pytest.raises(slipring.Undecodable, match="sequence 2"):
        next(batches)


def test_a_stream_that_waits_ends_when_the_subscriber_is_closed(fixed, background):
    pub, sub = fixed
    pub.send_many(records(3))
    batches, rows = iter(sub.stream(timeout=None)), 0
    while rows < 3:
        rows += next(batches).num_rows
    reading = background(lambda: list(batches))
    reading.wait_until_asleep()
    sub.close()
    assert reading.result() == []


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


def test_a_loan_is_aborted_by_an_exception_and_refused_while_slices_are_in_use(fixed):
    pub, sub = fixed
    with pytest.raises(ZeroDivisionError), pub.loan() as record:
        record["t"] = 1 / 0
    with pytest.raises(BufferError, match="nothing was sent"), pub.loan() as record:
        part = record["acc"]
    part[0] = 1.0
    del part
    pub.send_many(records(1))
    assert sub.recv(0).value["t"] == 0.0 and sub.received == 1


def test_a_loan_needs_a_fixed_layout_and_has_no_size(bus, fixed):
    with pytest.raises(slipring.BadArgument, match=r"call loan\(\) without size"):
        fixed[0].loan(100)
    with pytest.raises(slipring.BadArgument, match="without a fixed layout"):
        bus.publisher("imu", schema=Imu, **SMALL).loan()


def test_a_loan_on_an_untyped_topic_needs_a_size(bus):
    with pytest.raises(TypeError, match="size"):
        bus.publisher("raw", **SMALL).loan()


def test_a_dtype_with_a_shape_is_a_message(bus):
    kind = np.dtype(("<f4", (2, 3)))
    pub, sub = bus.publisher("grid", schema=kind, **SMALL), bus.subscriber("grid")
    array = np.arange(12, dtype="<f4").reshape(2, 2, 3)
    pub.send_many(array)
    with pub.loan() as record:
        record[...] = array[1]
    values = [message.value.tolist() for message in sub.recv_many()]
    assert values == [array[0].tolist(), array[1].tolist(), array[1].tolist()]


def test_a_full_topic_takes_all_records_or_as_many_as_fit(bus):
    pub = bus.publisher("imu", schema=FIXED, delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("imu")
    with pytest.raises(slipring.Full):
        pub.send_many(records(1000), timeout=0)
    with pytest.raises(slipring.Full):
        pub.send(records(1)[0], timeout=0)
    taken = sub.recv_many(1000)
    assert [message.value["t"] for message in taken] == list(range(len(taken)))
    assert pub.send(records(1)[0], timeout=0) == len(taken)


# Patterns


def test_a_pattern_reads_each_topic_with_its_class(bus):
    pubs = [bus.publisher(f"cam.{name}", schema=Imu, **SMALL) for name in "ab"]
    sub = bus.subscriber("cam.*", schema=Fewer)
    for pub in pubs:
        pub.send(STILL)
    assert [message.value for message in sub.recv_many()] == [Fewer([0.1, 0.2, 9.8])] * 2
    buffer = bytearray(200)
    for pub in pubs:
        pub.send(STILL)
    with sub.view(0) as message:
        assert message.value == Fewer([0.1, 0.2, 9.8])
    assert sub.recv_into(buffer, 0).value == Fewer([0.1, 0.2, 9.8])


def test_a_topic_of_a_pattern_that_does_not_fit_is_reported_once_and_the_others_are_read(bus):
    good = bus.publisher("cam.good", schema=Imu, **SMALL)
    sub = bus.subscriber("cam.*", schema=Imu)
    bus.publisher("cam.bad", schema=np.dtype([("t", "<f8")]), **SMALL).send({"t": 1.0})
    bus.publisher("cam.raw", **SMALL).send(b"x")
    assert sub.topics == ["cam.good"]  # it searches
    for topic, problem in (("cam.bad", "field acc is not in the topic"), ("cam.raw", "no schema")):
        with pytest.raises(slipring.SchemaMismatch, match=f"topic '{topic}' of pattern.*{problem}"):
            sub.recv(0)
    good.send(STILL)
    assert sub.recv(60).value == STILL and sub.recv(0) is None
    assert sub.stats()["refused"] == ["cam.bad", "cam.raw"]


def test_a_pattern_without_a_class_has_plain_values(bus):
    typed, raw = bus.publisher("cam.a", schema=Imu, **SMALL), bus.publisher("cam.b", **SMALL)
    sub = bus.subscriber("cam.*")
    typed.send(STILL)
    raw.send(b"x")
    found = {message.topic: message.value for message in sub.recv_many()}
    assert found["cam.a"]["t"] == 0.5 and found["cam.b"] == b"x"


def test_a_decoded_batch_of_a_pattern_has_the_columns_of_its_topics(bus):
    pubs = [
        bus.publisher(f"cam.{name}", schema=Imu, encoding=how, **SMALL)
        for name, how in zip("ab", ("json", "msgpack"), strict=True)
    ]
    sub = bus.subscriber("cam.*")
    for pub in pubs:
        pub.send_many(numbered(3))
    batch = sub.recv_batch(decode=True)
    assert batch.schema.names == [*HEAD, "t", "acc", "ok"]
    assert sorted(batch.column("topic").to_pylist()) == ["cam.a"] * 3 + ["cam.b"] * 3
    assert sorted(batch.column("t").to_pylist()) == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    assert sub.recv_batch(decode=True).schema == batch.schema
    for pub in pubs:
        pub.send_many(numbered(3))
    assert pa.table(sub.stream()).num_rows == 6


def test_topics_with_different_columns_are_refused_and_nothing_is_taken(bus):
    one, two = (
        bus.publisher("cam.a", schema=Imu, **SMALL),
        bus.publisher("cam.b", schema=np.dtype([("t", "<f4")]), **SMALL),
    )
    sub = bus.subscriber("cam.*")
    one.send(STILL)
    two.send({"t": 1.0})
    for use in (lambda: sub.recv_batch(decode=True), lambda: pa.table(sub.stream())):
        with pytest.raises(slipring.SchemaMismatch, match=r"'cam\.a' and 'cam\.b'") as refused:
            use()
        assert (refused.value.field, refused.value.found, refused.value.asked) == ("t", "double", "float")
    assert sub.received == 0 and len(sub.recv_many()) == 2


def test_bad_messages_of_a_pattern_have_no_rows_and_the_error_has_those_of_all_topics(bus):
    pubs = [bus.publisher(f"cam.{name}", schema=FIXED, **SMALL) for name in "ab"]
    sub = bus.subscriber("cam.*")
    for pub in pubs:
        pub.send_many(records(2))
        pub.send_raw(b"bad")
    with pytest.raises(slipring.Undecodable, match=r"topic 'cam\.[ab]', sequence 2") as refused:
        sub.recv_batch(decode=True)
    assert sorted(refused.value.batch.column("topic").to_pylist()) == ["cam.a", "cam.a", "cam.b", "cam.b"]
    assert len(refused.value.__notes__) == 1 and sub.recv(0) is None
