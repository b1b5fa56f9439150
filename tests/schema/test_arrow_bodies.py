# SPDX-License-Identifier: Apache-2.0
"""Encoding arrow: a body is one record batch; what does not fit names the column."""

import dataclasses
import datetime
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import strategies
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.topic_schema import Schema

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@given(st.data())
@settings(QUICK)
def test_any_value_of_any_arrow_schema_comes_back(data):
    root = data.draw(strategies.ROOTS)
    try:
        arrow = strategies.schema_of("msgpack", root).arrow
        schema = declare(arrow)
    except slipring.BadArgument:  # names of the test's structures inside of Arrow types
        return
    value = data.draw(strategies.values(schema.root))
    body = Encoder(schema).encode(value)
    batch = Decoder(schema).decode(body)
    assert batch.schema == arrow
    from slipring._bus.schema.encodings import arrow_types

    assert strategies.same(arrow_types.to_rows(schema.fields, batch), [value])


ARROW = pa.schema(
    [
        pa.field("a", pa.int32(), False),
        ("s", pa.string()),
        ("l", pa.list_(pa.field("item", pa.int8(), False))),
    ]
)


def test_a_batch_comes_back():
    schema = declare(ARROW)
    batch = pa.RecordBatch.from_pylist(
        [{"a": 1, "s": "x", "l": [1]}, {"a": 2, "s": None, "l": None}], schema=ARROW
    )
    encode, decode = Encoder(schema).encode, Decoder(schema).decode
    assert decode(encode(batch)).equals(batch)
    assert decode(encode(pa.Table.from_batches([batch, batch]))).num_rows == 4
    assert decode(encode(batch.slice(1))).to_pylist() == batch.slice(1).to_pylist()
    assert decode(encode(batch.slice(0, 0))).num_rows == 0
    assert decode(encode({"a": 1, "s": "x", "l": [1]})).equals(batch.slice(0, 1))
    assert decode(encode(batch.to_pylist())).equals(batch)
    own = dataclasses.make_dataclass("Own", [("a", int), ("s", str | None), ("more", int, 5)])
    assert Decoder(schema, own).decode(encode(batch)) == [own(1, "x"), own(2, None)]
    wide = pa.schema([pa.field("a", pa.int64(), False)])
    assert Decoder(schema, wide).decode(encode(batch)).to_pylist() == [{"a": 1}, {"a": 2}]


def test_a_wrong_batch_is_refused_with_its_column():
    encode = Encoder(declare(ARROW)).encode
    good = {"a": [1], "s": ["x"], "l": [[1]]}
    types = dict(zip(ARROW.names, ARROW.types, strict=True))

    def batch(**change):
        content = {key: value for key, value in {**good, **change}.items() if value is not None}
        return pa.record_batch(
            {key: v if isinstance(v, pa.Array) else pa.array(v, types.get(key)) for key, v in content.items()}
        )

    encode(batch())
    for change, column in (
        ({"a": [None]}, "a"),
        ({"a": pa.array([1.5])}, "a"),
        ({"s": None}, "s"),
        ({"zz": [1]}, "zz"),
        ({"l": pa.array([[None]], pa.list_(pa.field("item", pa.int8(), False)))}, "l[]"),
    ):
        with pytest.raises(slipring.BadArgument) as caught:
            encode(batch(**change))
        assert caught.value.argument == column
    with pytest.raises(slipring.BadArgument, match="order"):
        encode(batch().select(["s", "a", "l"]))
    with pytest.raises(slipring.BadArgument, match="a="):
        encode({"a": 1 << 40, "s": None, "l": None})


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_compressed_batch_is_undecodable(codec):
    """Its memory would not be bounded by the size of the body."""
    batch = pa.RecordBatch.from_pylist([{"a": 1, "s": "x" * 100_000, "l": []}], schema=ARROW)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ARROW, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_batch(batch)
    messages = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))
    body = messages[1].serialize().to_pybytes()
    assert len(body) < 10_000
    with pytest.raises(slipring.Undecodable, match="compressed"):
        Decoder(declare(ARROW)).decode(body)
    with pytest.raises(slipring.Undecodable, match="not a record batch"):
        Decoder(declare(ARROW)).decode(messages[0].serialize().to_pybytes())


def test_a_null_where_none_is_allowed_is_undecodable():
    loose = pa.schema([ARROW.field(0).with_nullable(True), *list(ARROW)[1:]])
    body = pa.RecordBatch.from_pylist([{"a": None, "s": "", "l": []}], schema=loose).serialize()
    with pytest.raises(slipring.Undecodable, match="column a has NULL"):
        Decoder(declare(ARROW)).decode(body)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Nowhere/At_all", "\x7f"])
def test_moments_are_read_in_utc_whatever_the_zone_of_their_column(zone):
    @dataclass
    class Own:
        when: datetime.datetime
        all: list[datetime.datetime]

    when = pa.timestamp("us", zone)
    plain = pa.timestamp("us", "UTC")
    moment = datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.UTC)
    arrow = pa.schema(
        [pa.field("when", when, False), pa.field("all", pa.list_(pa.field("item", when, False)), False)]
    )
    columns = [
        pa.array([moment], plain).cast(when),
        pa.array([[moment]], pa.list_(plain)).cast(arrow.field(1).type),
    ]
    schema = Schema.from_bytes(declare(arrow).to_bytes())
    body = Encoder(schema).encode(pa.RecordBatch.from_arrays(columns, schema=arrow))
    [found] = Decoder(schema, Own).decode(body)
    assert found == Own(moment, [moment])
    assert found.when.tzinfo is datetime.UTC
