# SPDX-License-Identifier: Apache-2.0
"""A temporary view for each recorded topic, for SQL: fields as columns where the topic is typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from slipring.errors import BadArgument, SchemaMismatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..lake import Lake


def register(lake: Lake, spark: SparkSession, topics: Iterable[str] | None, prefix: str) -> list[str]:
    """See Lake.register."""
    recorded = sorted({file.topic for file in lake.refresh().files.values()})
    wanted = recorded if topics is None else [topics] if isinstance(topics, str) else list(topics)
    for topic in wanted:
        if topic not in recorded:
            known = ", ".join(recorded) or "none"
            raise BadArgument(
                f"topics: {topic!r} is not in the recording: topics are {known}", argument="topics"
            )
    frames = {}
    for topic in wanted:
        try:
            frames[topic] = lake.read(spark, [topic], decode=True)
        except SchemaMismatch as error:
            if error.found != "no schema":
                raise
            frames[topic] = lake.read(spark, [topic])
    for topic, frame in frames.items():
        frame.createOrReplaceTempView(f"`{prefix}{topic}`")
    return [f"{prefix}{topic}" for topic in frames]
