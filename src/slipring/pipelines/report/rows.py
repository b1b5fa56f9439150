# SPDX-License-Identifier: Apache-2.0
"""The rows of a recording without their bodies, from which all tables but those of calls are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PERCENTS = (50, 90, 99, 99.9)
ACCURACY = 10_000  # of percentiles: a rank is right to within one part of this


def narrow(rows: DataFrame) -> DataFrame:
    """Return all columns, with ``size`` instead of the body; the size of a hole is NULL."""
    from pyspark.sql import functions as F

    texts = [F.coalesce(name, F.lit("")).alias(name) for name in ("sender", "type")]
    size = F.octet_length("value").cast("long").alias("size")
    return rows.select(
        *("topic", "generation", "offset", "span", "lost", "timestamp_ns", "received_ns"), *texts, size
    )


def messages(rows: DataFrame) -> DataFrame:
    """Return the rows of messages."""
    return rows.where("size IS NOT NULL")


def holes(rows: DataFrame) -> DataFrame:
    """Return the rows of holes."""
    return rows.where("size IS NULL")


def percentiles(column: str, name: str, unit: float = 1.0) -> list[Column]:
    """Return aggregates ``<name>_p50`` … ``<name>_max`` of a column, divided by ``unit``."""
    from pyspark.sql import functions as F

    at = F.percentile_approx(column, [percent / 100 for percent in PERCENTS], ACCURACY)
    found = [(at[index] / unit).alias(title(name, percent)) for index, percent in enumerate(PERCENTS)]
    return [*found, (F.max(column) / unit).alias(f"{name}_max")]


def title(name: str, percent: float) -> str:
    """Return the column of a percentile: ``size_p50``, ``delay_s_p99_9``."""
    return f"{name}_p{percent:g}".replace(".", "_")


def columns(name: str) -> list[str]:
    """Return all columns of ``percentiles``."""
    return [*(title(name, percent) for percent in PERCENTS), f"{name}_max"]
