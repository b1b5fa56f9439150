# SPDX-License-Identifier: Apache-2.0
"""Options of the source: a wrong option is found and named when the DataFrame is made."""

from pathlib import Path

import pytest

from slipring._bus.ranges import COLUMNS
from slipring.spark import errors as failures
from slipring.spark.errors import BadOption
from slipring.spark.source import open_topics, parsing, schema
from slipring.spark.source.data_source import DefaultSource
from slipring.spark.source.options import KNOWN


@pytest.fixture
def given(bus, bus_root):
    bus.create("imu")
    bus.create("cmd", delivery="reliable")
    return {"bus": "test", "root": str(bus_root), "subscribe": "imu"}


WRONG = [
    ("subscrib", {"subscrib": "imu"}, "did you mean subscribe"),
    ("path", {"path": "/somewhere"}, "has no such option"),
    ("subscribe", {"subscribe": "nobody"}, "there is no topic 'nobody'"),
    ("subscribe", {"subscribe": "imu,,cmd"}, "empty name"),
    ("subscribe", {"subscribe": "imu,imu"}, "twice"),
    ("subscribe", {"subscribe": "../imu"}, "topic"),
    ("subscribe", {"subscribe": " "}, "it is empty"),
    ("subscribe", {"subscribePattern": ".*"}, "contradicts option subscribePattern"),
    ("bus", {"bus": "a/b"}, "name"),
    ("bus", {"bus": "zmq+tcp://robot:5555/robot"}, "run it there"),
    ("root", {"root": "a\0b"}, "root"),
    ("groupId", {"groupId": "a/b"}, "cursor"),
    ("groupId", {"groupId": "x" * 64}, "at most 63"),
    ("groupExpires", {"groupExpires": "1h"}, "groupId"),
    ("startingOffsets", {"startingOffsets": "newest"}, "not earliest, latest, or JSON"),
    ("startingOffsets", {"startingOffsets": '{"imu": -1}'}, "-1 of topic 'imu'"),
    ("startingOffsets", {"startingOffsets": '{"imu": true}'}, "True of topic 'imu'"),
    ("startingOffsets", {"startingOffsets": '{"gps": 1}'}, "'gps' is not among"),
    ("startingOffsets", {"startingOffsets": "latest", "startingTimestamp": "0"}, "contradicts"),
    ("startingTimestamp", {"startingTimestamp": "yesterday"}, "is not a time"),
    ("startingTimestamp", {"startingTimestamp": "2026-01-01T00:00:00"}, "has no time zone"),
    ("startingTimestamp", {"startingTimestamp": "1794801229755178396"}, "too large for milliseconds"),
    ("endingOffsets", {"endingOffsets": "latest", "endingTimestamp": "0"}, "contradicts"),
    ("maxOffsetsPerTrigger", {"maxOffsetsPerTrigger": "10", "endingOffsets": "latest"}, "contradicts"),
    ("maxOffsetsPerTrigger", {"maxOffsetsPerTrigger": "0"}, "at least 1"),
    ("maxOffsetsPerTrigger", {"maxOffsetsPerTrigger": "1e6"}, "whole number"),
    ("maxBytesPerTrigger", {"maxBytesPerTrigger": "much"}, "not a size"),
    ("batchBytes", {"batchBytes": "0"}, "at least 1"),
    ("minOffsetsPerTrigger", {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "more than"),
    ("maxTriggerDelay", {"maxTriggerDelay": "5m"}, "minOffsetsPerTrigger"),
    ("maxTriggerDelay", {"maxTriggerDelay": "5 years", "minOffsetsPerTrigger": "2"}, "15m"),
    ("minPartitions", {"minPartitions": "-1"}, "at least 1"),
    ("failOnDataLoss", {"failOnDataLoss": "perhaps"}, "true or false"),
    ("includeGaps", {"includeGaps": "1"}, "true or false"),
    ("columns", {"columns": "value,key"}, "there is no column key"),
    ("columns", {"columns": "value,value"}, "twice"),
    ("valueSchema", {"valueSchema": "x int"}, "valueFormat"),
    ("mode", {"mode": "FAILFAST"}, "valueFormat"),
    ("mode", {"mode": "fast", "valueFormat": "json", "valueSchema": "x int"}, "FAILFAST, PERMISSIVE"),
    ("valueFormat", {"valueFormat": "xml", "valueSchema": "x int"}, "json, msgpack, numpy, arrow"),
    ("valueFormat", {"valueFormat": "nowhere:decode", "valueSchema": "x int"}, "no such function"),
    ("valueFormat", {"valueFormat": "json:nothing", "valueSchema": "x int"}, "no such function"),
    ("valueFormat", {"valueFormat": "string:digits", "valueSchema": "x int"}, "is not a function"),
    ("valueSchema", {"valueFormat": "json"}, "it is missing"),
    ("valueSchema", {"valueFormat": "json", "valueSchema": "x what"}, "'what'"),
    ("valueSchema", {"valueFormat": "json", "valueSchema": "topic string"}, "two columns topic"),
    ("valueSchema", {"valueFormat": "json", "valueSchema": '{"type": "no"}'}, "StructType"),
    ("valueDtype", {"valueFormat": "numpy"}, "it is missing"),
    ("valueDtype", {"valueFormat": "numpy", "valueDtype": "f8"}, "named fields"),
    ("valueDtype", {"valueFormat": "numpy", "valueDtype": "[('x', 'wild')]"}, "not a numpy dtype"),
    ("valueDtype", {"valueFormat": "json", "valueDtype": "f8", "valueSchema": "x int"}, "belongs to"),
    (
        "valueSchema",
        {"valueFormat": "numpy", "valueDtype": "[('x','f8')]", "valueSchema": "y int"},
        "has no field y",
    ),
]


def made(options):
    """Call the source as Spark does when a DataFrame is made."""
    return DefaultSource(options).schema()


@pytest.mark.parametrize(("option", "wrong", "why"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_option_is_refused_by_its_name(given, option, wrong, why):
    with pytest.raises(BadOption) as caught:
        made({**given, **wrong})
    assert caught.value.argument == option
    assert why in str(caught.value) and f"option {option}" in str(caught.value)


def test_a_dataframe_without_topics_names_the_missing_option(given):
    del given["subscribe"]
    with pytest.raises(BadOption, match="option subscribe: it is missing"):
        made(given)


def test_names_of_options_may_be_written_in_any_case(given):
    options = parsing.parse(
        {key.upper(): value for key, value in given.items()} | {"FAILONDATALOSS": "False"}
    )
    assert options.topics == ("imu",) and not options.fail_on_loss


@pytest.mark.parametrize("option", ["endingOffsets", "endingTimestamp"])
def test_options_of_batches_are_refused_by_a_stream(given, option):
    value = "latest" if option == "endingOffsets" else "0"
    source = DefaultSource({**given, option: value})
    with pytest.raises(BadOption, match=f"option {option}: a stream has no end"):
        source.streamReader(source.schema())


@pytest.mark.parametrize("option", ["groupId", "maxOffsetsPerTrigger", "minOffsetsPerTrigger"])
def test_options_of_streams_are_refused_by_a_batch(given, option):
    source = DefaultSource({**given, option: "1"})
    with pytest.raises(BadOption, match=f"option {option}: it is for streams"):
        source.reader(source.schema())


@pytest.mark.parametrize("wrong", [{"startingOffsets": "latest"}, {"endingOffsets": '{"imu": "earliest"}'}])
def test_a_batch_that_cannot_have_rows_is_refused(given, wrong):
    source = DefaultSource({**given, **wrong})
    with pytest.raises(BadOption, match="leaves nothing to read"):
        source.reader(source.schema())


def test_a_schema_given_by_the_user_is_refused(given):
    source = DefaultSource(given)
    other = schema.of_frame(parsing.parse({**given, "columns": "value"}))
    with pytest.raises(BadOption, match=r"leave \.schema"):
        source.streamReader(other)


def test_defaults_are_the_documented_ones(given):
    options = parsing.parse(given)
    assert options.fail_on_loss and not options.gaps and options.batch_bytes == 1 << 20
    assert options.columns == (
        *("topic", "offset", "timestamp", "timestamp_ns", "sender", "type", "value", "host"),
    )
    assert (
        options.max_rows is options.max_bytes is options.min_rows is options.group is options.starting is None
    )


def test_sizes_times_and_lists_are_parsed(given):
    options = parsing.parse(
        {
            **given,
            "subscribe": "imu, cmd",
            "maxBytesPerTrigger": "64MiB",
            "minOffsetsPerTrigger": "10",
            "maxTriggerDelay": "90s",
            "startingTimestamp": "2026-01-31T12:00:00.000001+01:00",
            "groupId": "g",
            "groupExpires": "7d",
            "columns": "value,offset",
        }
    )
    assert options.topics == ("cmd", "imu") and options.max_bytes == 64 << 20
    assert options.max_delay_s == 90 and options.group_expires_s == 7 * 86400
    assert options.starting.time_ns == 1769857200_000001000
    assert options.columns == ("value", "offset")
    open_topics.check(options)


def test_the_document_names_every_option_column_and_error():
    text = (Path(__file__).parents[3] / "docs/spec/spark-source.md").read_text()
    mine = (kind for kind in vars(failures).values() if isinstance(kind, type))
    classes = [kind.__name__ for kind in mine if kind.__module__ == failures.__name__]
    missing = [name for name in (*KNOWN, *COLUMNS, *classes) if f"`{name}`" not in text]
    assert missing == [] and len(classes) >= 8
