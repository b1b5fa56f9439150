# SPDX-License-Identifier: Apache-2.0
"""Wrong options and columns of the sink are refused by name before anything is published (promise 32)."""

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, DoubleType, IntegerType, LongType, StringType, StructType

import slipring
from slipring.spark.sink import options as sink_options
from slipring.spark.sink.staged_rows import StagedRows, check_schema


@pytest.fixture
def options(bus):
    def parse(streaming=True, **given):
        return sink_options.parse({"bus": bus.name, "root": bus.root, **given}, streaming=streaming)

    return parse


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"topics": "a"}, "topics"),
        ({"path": "/tmp/x"}, "path"),
        ({"topic": "a/b"}, "topic"),
        ({"topic": ""}, "topic"),
        ({"bus": "../up"}, "name"),
        ({"bus": "zmq+tcp://robot:5555/robot"}, "bus"),
        ({"capacity": "much"}, "capacity"),
        ({"delivery": "perhaps"}, "delivery"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": "-1"}, "timeout"),
        ({"timeout": "nan"}, "timeout"),
        ({"txnAppId": "a", "txnVersion": "1"}, "txnAppId"),
    ],
)
def test_a_wrong_option_is_named(options, given, argument):
    with pytest.raises(slipring.BadArgument) as caught:
        options(**given)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "given", [{"txnAppId": "a"}, {"txnVersion": "1"}, {"txnAppId": "a", "txnVersion": "-1"}]
)
def test_a_version_needs_its_application_and_a_number(options, given):
    with pytest.raises(slipring.BadArgument) as caught:
        options(streaming=False, **given)
    assert caught.value.argument == "txnVersion"


def test_names_of_options_are_not_case_sensitive_as_in_spark(options):
    found = options(
        streaming=False, TOPIC="a", txnappid="x", TXNVERSION="7", checkpointLocation="/c", timeout="2"
    )
    assert (found.topic, found.app, found.version, found.timeout) == ("a", "x", 7, 2.0)


TEXT, BYTES = StringType(), BinaryType()


def schema(**columns) -> StructType:
    found = StructType()
    for name, kind in columns.items():
        found.add(name, kind)
    return found


@pytest.mark.parametrize(
    ("columns", "argument"),
    [
        ({"body": BYTES, "topic": TEXT}, "value"),
        ({"value": IntegerType(), "topic": TEXT}, "value"),
        ({"value": BYTES}, "topic"),
        ({"value": BYTES, "topic": LongType()}, "topic"),
        ({"value": BYTES, "topic": TEXT, "type": BYTES}, "type"),
        ({"value": BYTES, "topic": TEXT, "sender": schema(a=TEXT)}, "sender"),
        ({"value": BYTES, "topic": TEXT, "speed": DoubleType()}, "speed"),
    ],
)
def test_a_wrong_column_is_named(options, columns, argument):
    with pytest.raises(slipring.BadArgument) as caught:
        check_schema(schema(**columns), options())
    assert caught.value.argument == argument


def test_the_columns_of_the_source_may_be_written_unchanged(options):
    facts = dict.fromkeys(("offset", "timestamp_ns", "span", "lost", "generation", "received_ns"), LongType())
    check_schema(schema(topic=TEXT, **facts, sender=TEXT, type=TEXT, value=BYTES, host=TEXT), options())
    check_schema(schema(VALUE=TEXT), options(topic="a"))


def batch(**columns) -> pa.RecordBatch:
    return pa.record_batch(columns)


@pytest.mark.parametrize(
    ("columns", "error", "argument"),
    [
        ({"value": [b"x", None], "topic": ["a", "a"]}, slipring.BadArgument, "value"),
        ({"value": [b"x", b"y"], "topic": ["a", None]}, slipring.BadArgument, "topic"),
        ({"value": [b"x"], "topic": ["no good"]}, slipring.BadArgument, "topic"),
        ({"value": [b"x"], "topic": ["a"], "type": ["ü" * 128]}, slipring.BadArgument, "type"),
        ({"value": [b"x"], "topic": ["a"], "sender": ["s" * 256]}, slipring.BadArgument, "sender"),
        ({"value": [b"x", b"x" * 4097], "topic": ["a", "a"]}, slipring.TooLarge, "capacity"),
        ({"value": [b"x" * 4096], "topic": ["a"], "type": ["t"]}, slipring.TooLarge, "capacity"),
    ],
)
def test_a_row_that_can_never_be_published_is_refused_during_staging(options, columns, error, argument):
    rows = StagedRows(options(capacity="4096"))
    with pytest.raises(error) as caught:
        list(rows.batches(iter([batch(**columns)])))
    assert caught.value.argument == argument


def test_the_largest_message_that_fits_is_taken_and_the_option_topic_goes_before_the_column(options, bus):
    rows = StagedRows(options(capacity="4096", topic="b"))
    given = batch(value=[b"x" * 4096, b""], topic=["a", None], type=[None, None])
    (staged,) = rows.batches(iter([given.slice(0, 0), given]))
    assert staged.to_pylist()[1] == {"value": b"", "topic": "b", "type": "", "sender": ""}
    assert (rows.count, rows.topics, bus.topics()) == (2, ("b",), ["b"])
