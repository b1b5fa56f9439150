# SPDX-License-Identifier: Apache-2.0
"""Times: between messages, from publishing to recording, and where messages are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .rows import holes, percentiles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

PER_DECADE = 8  # steps of a distribution


def timed(rows: DataFrame) -> DataFrame:
    """Return rows with the durations of each message; NULL if one is not known.

    interval_ns         since the message right before it in its topic; NULL next to a hole
    sender_interval_ns  since the previous message of the same sender in its topic
    delay_ns            from the publisher's stamp to the recorder's reading

    For a later message with an earlier stamp the interval is 0.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    topic, sender = (
        Window.partitionBy("topic", "generation", *more).orderBy("offset") for more in ((), ("sender",))
    )
    message = F.col("size").isNotNull()

    def since(window: WindowSpec) -> Column:
        passed = F.col("timestamp_ns") - F.lag("timestamp_ns").over(window)
        return F.when(message & passed.isNotNull(), F.greatest(passed, F.lit(0)))

    return rows.withColumns(
        {
            "interval_ns": since(topic),
            "sender_interval_ns": since(sender),
            "delay_ns": F.col("received_ns") - F.col("timestamp_ns"),
        }
    )


def lengths(interval: str) -> list[Column]:
    """Return aggregates of the time between messages (a column) and of the delay until recording.

    ``negative`` counts delays of clocks that disagree.
    """
    from pyspark.sql import functions as F

    return [
        F.count(interval).alias("intervals"),
        (F.avg(interval) / 1e9).alias("interval_s_mean"),
        (F.stddev_samp(interval) / 1e9).alias("interval_s_stddev"),
        *percentiles(interval, "interval_s", 1e9),
        F.count_if(F.col("delay_ns") < 0).alias("negative"),
        *percentiles("delay_ns", "delay_s", 1e9),
    ]


def gaps(rows: DataFrame) -> DataFrame:
    """Return every hole: messages lost, sequences abandoned, and the times around it."""
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    one = Window.partitionBy("topic", "generation")
    before, behind = (  # behind counts from the end: a window that reaches forward takes quadratic time
        one.orderBy(order).rowsBetween(Window.unboundedPreceding, -1)
        for order in (F.col("offset"), F.desc("offset"))
    )
    rows = rows.select("topic", "generation", "offset", "span", "lost", "timestamp_ns", "received_ns", "size")
    touched = holes(rows).select("topic", "generation").distinct()
    concerned = rows.join(touched, ["topic", "generation"], "left_semi")
    found = concerned.withColumns(
        {
            "after_ns": F.last("timestamp_ns", ignorenulls=True).over(before),
            "before_ns": F.last("timestamp_ns", ignorenulls=True).over(behind),
        }
    )
    return holes(found).select(
        "topic",
        "generation",
        "offset",
        "span",
        "lost",
        (F.col("span") - F.col("lost")).alias("abandoned"),
        "after_ns",
        "before_ns",
        F.coalesce("after_ns", "before_ns", "received_ns", F.lit(0)).alias("at_ns"),
    )


def distributions(rows: DataFrame, measures: Mapping[str, str]) -> DataFrame:
    """Return how many values of each measure (name: column) are in each step of a logarithmic scale.

    Columns measure, topic, step, messages. A step begins at 10 ** (step / PER_DECADE); -1 is all below 1.
    """
    from pyspark.sql import functions as F

    pairs = [
        F.struct(F.lit(name).alias("measure"), F.col(column).alias("value"))
        for name, column in measures.items()
    ]
    values = rows.select("topic", F.inline(F.array(*pairs))).where("value IS NOT NULL")
    step = F.floor(F.log10("value") * PER_DECADE + 1e-9)
    steps = F.when(F.col("value") >= 1, step).otherwise(F.lit(-1)).cast("int").alias("step")
    found = values.groupBy("measure", "topic", steps).agg(F.count("*").alias("messages"))
    return found.orderBy("measure", "topic", "step")
