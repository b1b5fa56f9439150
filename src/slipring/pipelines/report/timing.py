# SPDX-License-Identifier: Apache-2.0
"""When things came: the time between messages, the delay until they were recorded, and where some are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rows import holes, messages, percentiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PER_DECADE = 8  # steps of a distribution


def spaced(rows: DataFrame) -> DataFrame:
    """Messages with ``interval_ns``: the time since the one right before them; NULL where that is not known.

    What lies around a hole is no interval. A later message with an earlier stamp came after no time.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    order = Window.partitionBy("topic", "generation").orderBy("offset")
    next_one = F.lag("offset").over(order) + 1 == F.col("offset")
    passed = F.col("timestamp_ns") - F.lag("timestamp_ns").over(order)
    return messages(rows).withColumn("interval_ns", F.when(next_one, F.greatest(passed, F.lit(0))))


def intervals(rows: DataFrame) -> DataFrame:
    """The time between messages of a topic, and when it was silent for longest."""
    from pyspark.sql import functions as F

    found = spaced(rows).groupBy("topic").agg(
        F.count("interval_ns").alias("intervals"),
        (F.avg("interval_ns") / 1e9).alias("interval_s_mean"),
        (F.stddev_samp("interval_ns") / 1e9).alias("interval_s_stddev"),
        *percentiles("interval_ns", "interval_s", 1e9),
        F.max_by(F.col("timestamp_ns") - F.col("interval_ns"), "interval_ns").alias("silent_from_ns"),
    )
    return found.where("intervals > 0").orderBy("topic")


def sender_intervals(rows: DataFrame) -> DataFrame:
    """The time between messages of one sender on one topic."""
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    order = Window.partitionBy("topic", "generation", "sender").orderBy("offset")
    passed = F.col("timestamp_ns") - F.lag("timestamp_ns").over(order)
    own = messages(rows).withColumn("interval_ns", F.greatest(passed, F.lit(0)))
    found = own.groupBy("topic", "sender").agg(
        F.count("interval_ns").alias("intervals"), *percentiles("interval_ns", "interval_s", 1e9)
    )
    return found.where("intervals > 0").orderBy("topic", "sender")


def delayed(rows: DataFrame) -> DataFrame:
    """Messages with ``delay_ns``: from the publisher's stamp to the recorder's reading."""
    from pyspark.sql import functions as F

    return messages(rows).withColumn("delay_ns", F.col("received_ns") - F.col("timestamp_ns"))


def delays(rows: DataFrame) -> DataFrame:
    """The delay from publishing to recording; ``negative`` counts those whose clocks contradict each other."""
    from pyspark.sql import functions as F

    found = delayed(rows).groupBy("topic").agg(
        F.count("delay_ns").alias("messages"),
        F.count_if(F.col("delay_ns") < 0).alias("negative"),
        *percentiles("delay_ns", "delay_s", 1e9),
    )
    return found.where("messages > 0").orderBy("topic")


def gaps(rows: DataFrame) -> DataFrame:
    """Every hole: how many messages were lost there, how many sequences abandoned, between which times."""
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    order = Window.partitionBy("topic", "generation").orderBy("offset")
    before, behind = (
        order.rowsBetween(Window.unboundedPreceding, -1),
        order.rowsBetween(1, Window.unboundedFollowing),
    )
    touched = holes(rows).select("topic", "generation").distinct()
    concerned = rows.join(touched, ["topic", "generation"], "left_semi")
    found = concerned.withColumns(
        {
            "after_ns": F.last("timestamp_ns", ignorenulls=True).over(before),
            "before_ns": F.first("timestamp_ns", ignorenulls=True).over(behind),
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


def distribution(values: DataFrame, column: str) -> DataFrame:
    """How many values of a column lie in each step of a logarithmic scale: topic, step, messages.

    A step begins at 10 ** (step / PER_DECADE); step -1 is everything below 1.
    """
    from pyspark.sql import functions as F

    step = F.floor(F.log10(F.col(column)) * PER_DECADE + 1e-9)
    found = values.where(F.col(column).isNotNull()).groupBy(
        "topic", F.when(F.col(column) >= 1, step).otherwise(F.lit(-1)).cast("int").alias("step")
    )
    return found.agg(F.count("*").alias("messages")).orderBy("topic", "step")
