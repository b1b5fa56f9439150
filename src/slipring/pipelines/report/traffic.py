# SPDX-License-Identifier: Apache-2.0
"""Amounts sent: by topic, sender and type, by the minute, and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rows import messages, percentiles
from .timing import lengths

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE_NS = 60 * 10**9


def _amounts() -> list[Column]:
    from pyspark.sql import functions as F

    return [
        F.count("size").alias("messages"),
        F.coalesce(F.sum("size"), F.lit(0)).alias("bytes"),
        F.min("timestamp_ns").alias("first_ns"),
        F.max("timestamp_ns").alias("last_ns"),
    ]


def _with_rates(found: DataFrame) -> DataFrame:
    """Return rates: messages after the first, and their bytes, over their time; NULL for a single moment."""
    from pyspark.sql import functions as F

    seconds = (F.col("last_ns") - F.col("first_ns")) / 1e9
    moving = F.when(seconds > 0, seconds)
    return found.withColumns(
        {
            "seconds": seconds,
            "rate_hz": (F.col("messages") - 1) / moving,
            "bytes_per_s": F.col("bytes") * (F.col("messages") - 1) / F.col("messages") / moving,
        }
    )


def topics(rows: DataFrame) -> DataFrame:
    """Return one row for each topic, also for a topic with holes only.

    A hole has no size and no times, so that only the aggregates of holes and generations see it.
    """
    from pyspark.sql import functions as F

    message = F.col("size").isNotNull()
    found = rows.groupBy("topic").agg(
        *_amounts(),
        *(
            F.size(F.collect_set(F.when(message, F.col(name)))).alias(f"{name}s")
            for name in ("sender", "type")
        ),
        *percentiles("size", "size"),
        *lengths("interval_ns"),
        F.max_by(F.col("timestamp_ns") - F.col("interval_ns"), "interval_ns").alias("silent_from_ns"),
        F.size(F.collect_set("generation")).alias("generations"),
        F.count_if(~message).alias("gaps"),
        F.coalesce(F.sum("lost"), F.lit(0)).alias("lost"),
        F.coalesce(F.sum(F.when(~message, F.col("span") - F.col("lost"))), F.lit(0)).alias("abandoned"),
    )
    share = F.col("lost") / F.nullif(F.col("lost") + F.col("messages"), F.lit(0))
    return _with_rates(found).withColumn("lost_share", F.coalesce(share, F.lit(0.0))).orderBy("topic")


def senders(rows: DataFrame) -> DataFrame:
    """Return one row for each sender on each topic."""
    found = messages(rows).groupBy("topic", "sender")
    amounts = found.agg(*_amounts(), *percentiles("size", "size"), *lengths("sender_interval_ns"))
    return _with_rates(amounts).orderBy("topic", "sender")


def types(rows: DataFrame) -> DataFrame:
    """Return one row for each type of message on each topic."""
    found = messages(rows).groupBy("topic", "type").agg(*_amounts(), *percentiles("size", "size"))
    return _with_rates(found).orderBy("topic", "type")


def busiest(rows: DataFrame, count: int) -> DataFrame:
    """Return the minutes of the clock with most messages, the busiest first."""
    from pyspark.sql import functions as F

    minute = F.expr(f"timestamp_ns - pmod(timestamp_ns, {MINUTE_NS})").alias("minute_ns")
    by_topic = (
        messages(rows)
        .groupBy(minute, "topic")
        .agg(F.count("*").alias("messages"), F.sum("size").alias("bytes"))
    )
    found = by_topic.groupBy("minute_ns").agg(
        F.sum("messages").alias("messages"),
        F.sum("bytes").alias("bytes"),
        F.max_by("topic", F.struct("messages", "topic")).alias("topic"),
        F.max("messages").alias("topic_messages"),
    )
    return found.orderBy(F.desc("messages"), F.desc("bytes"), "minute_ns").limit(count)


def rates(rows: DataFrame, gaps: DataFrame, width_ns: int, begin_ns: int = 0) -> DataFrame:
    """Return messages, bytes and losses of each topic in steps of ``width_ns``, one of which begins at ``begin_ns``.

    A step without any has no row.
    """
    from pyspark.sql import functions as F

    step = f"pmod({{0}} - {begin_ns}, {width_ns})"
    sent = messages(rows).groupBy(
        "topic", F.expr("timestamp_ns - " + step.format("timestamp_ns")).alias("time_ns")
    )
    missed = gaps.groupBy("topic", F.expr("at_ns - " + step.format("at_ns")).alias("time_ns"))
    amounts = sent.agg(F.count("*").alias("messages"), F.sum("size").alias("bytes"), F.lit(0).alias("lost"))
    losses = missed.agg(F.lit(0).alias("messages"), F.lit(0).alias("bytes"), F.sum("lost").alias("lost"))
    together = amounts.unionByName(losses).groupBy("topic", "time_ns")
    found = together.agg(*(F.sum(name).alias(name) for name in ("messages", "bytes", "lost")))
    return found.orderBy("topic", "time_ns")
