# SPDX-License-Identifier: Apache-2.0
"""Rows of a lake, for tests without a lake."""

from pyspark.sql import functions as F

SCHEMA = (
    "topic string, date date, generation long, offset long, span long, lost long, timestamp timestamp, "
    "timestamp_ns long, sender string, type string, value binary, host string, received_ns long"
)
BEGAN_NS = 1_794_800_000_000_000_000


def message(topic, offset, at_ns, value=b"x", sender="", type="", generation=7, delay_ns=1_000_000):
    """Return one message, ``at_ns`` after BEGAN_NS."""
    stamp = BEGAN_NS + at_ns
    body = bytearray(value)
    return (topic, None, generation, offset, 1, 0, None, stamp, sender, type, body, "here", stamp + delay_ns)


def hole(topic, offset, span, lost, at_ns=0, generation=7):
    received = BEGAN_NS + at_ns
    return (topic, None, generation, offset, span, lost, None, None, None, None, None, "here", received)


def frame(spark, rows):
    made = spark.createDataFrame(rows, SCHEMA)
    stamp = F.timestamp_micros(F.expr("timestamp_ns div 1000"))
    return made.withColumn("timestamp", stamp).withColumn("date", F.to_date("timestamp"))
