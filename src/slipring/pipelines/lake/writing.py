# SPDX-License-Identifier: Apache-2.0
"""From a DataFrame of messages to a stage of Parquet files, partitioned by topic and date."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from .errors import fault
from .reading import PARTITIONS, STORED
from .stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .directory import Lake

DAY_NS = 86_400_000_000_000
# Set on the session that writes. Rows stay in the order in which the source gave them, because no sort is
# needed while a task writes to few partitions; times are stored as what they are, not in Parquet's oldest
# form.
SETTINGS = {
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionOverwriteMode": "static",
}


def stage(lake: Lake, messages: DataFrame) -> Stage:
    """Write rows with the columns of Lake.read, `date` excepted, into a new stage."""
    spark = messages.sparkSession
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    place = Stage(lake, "record")
    day = F.expr(
        f"int(coalesce(timestamp_ns, received_ns) div {DAY_NS})"
    )  # in UTC, whatever the session's zone is
    dated = messages.withColumn("date", F.date_from_unix_date(day))
    try:
        dated.select(*PARTITIONS, *STORED).write.partitionBy(*PARTITIONS).parquet(str(place.path))
    except Exception as error:
        place.remove()
        if "No space left on device" in str(error) or "Disk quota exceeded" in str(error):
            raise fault(OSError(errno.ENOSPC, "No space left on device"), lake.path) from error
        raise
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
    return place
