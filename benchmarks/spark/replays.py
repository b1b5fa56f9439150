# SPDX-License-Identifier: Apache-2.0
"""The rate at which `replay` publishes a recording with `speed="max"`.

The rows of a topic are recorded once. Each replay uses a new bus and creates the topic there with its recorded
settings: lossy, with a ring that holds all messages. So the replay never waits, and all messages can be counted
afterwards. Senders, types and time stamps are the recorded ones. There are two rates. The rate of publishing runs
from the first message to the last, while Spark still sorts later ones. The rate of the whole call includes the time
in which Spark first reads the recording.
"""

import time
from pathlib import Path
from typing import Any

import slipring
from benchmarks.spark.rows import BUS, Rows

AGAIN = "again"


def recorded(spark: Any, rows: Rows) -> Path:
    """A lake with the rows."""
    from slipring import pipelines

    lake = Path(f"{rows.files}-lake")
    where = {"bus": BUS, "root": rows.root, "spark": spark}
    told = pipelines.record(rows.topic, lake, **where, pre_buffer=True, until_idle_s=0.5, sync=False)
    if (told.messages, told.lost) != (rows.count, 0):
        raise RuntimeError(f"{told.messages} of {rows.count} messages were recorded, {told.lost} lost")
    return lake


def rates(spark: Any, rows: Rows, lake: Path) -> dict[str, float]:
    """Messages a second: published, and of the whole call."""
    from slipring import pipelines

    with slipring.Bus(AGAIN, root=rows.root) as bus:
        begun = time.perf_counter()
        try:
            told = pipelines.replay(lake, bus=bus, spark=spark, speed="max")
            took = time.perf_counter() - begun
            there = bus.stats(rows.topic)["published"]
        finally:
            for topic in bus.topics():
                bus.remove(topic)
    if (told.messages, there) != (rows.count, rows.count):
        raise RuntimeError(f"{there} of {rows.count} messages were replayed")
    return {"publishing": told.messages / told.elapsed_s, "whole call": told.messages / took}
