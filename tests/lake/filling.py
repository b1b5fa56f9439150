# SPDX-License-Identifier: Apache-2.0
"""Rows for lakes without Spark, staged as `slipring record` stages them, and written by pyarrow.

The body of a message names its topic and offset. A hole is (offset, span, lost).
"""

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq

from slipring.pipelines.lake.row_files import SCHEMA
from slipring.pipelines.lake.stage import Stage

NOON_NS = 1_767_268_800_000_000_000  # 2026-01-01T12:00Z


def body(topic: str, offset: int) -> bytes:
    return f"{topic}:{offset}".encode() * 3


def row(topic, offset, span=1, lost=0, generation=-7, hole=False):
    when = NOON_NS + offset * 1_000_000
    if hole:
        return (generation, offset, span, lost, None, None, None, None, None, "h", when)
    moment = datetime.datetime.fromtimestamp(when // 10**9, datetime.UTC)
    return (generation, offset, span, lost, moment, when, "s", f"{topic}.v1", body(topic, offset), "h", when)


def messages(topic, first, end, generation=-7):
    return [row(topic, offset, generation=generation) for offset in range(first, end)]


def hole(topic, offset, span, lost, generation=-7):
    return [row(topic, offset, span, lost, generation, hole=True)]


def staged(lake, *parts, date="2026-01-01"):
    """Make a stage with one file for each (topic, rows)."""
    stage = Stage(lake, "record")
    for number, (topic, rows) in enumerate(parts):
        path = stage.path / f"topic={topic}" / f"date={date}" / f"part-{number:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = list(zip(*rows, strict=True)) or [[] for _ in SCHEMA]
        pq.write_table(
            pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA), path
        )
    return stage


def record(lake, session, batch, *parts):
    """Commit a batch."""
    stage = staged(lake, *parts)
    committed = lake.commit(session, batch, stage.files())
    stage.remove()
    return committed


def rows(lake, topic):
    """Return all rows of a topic in the lake, in order: (generation, offset, span, lost, value)."""
    found = []
    for file in lake.files([topic]):
        table = pq.ParquetFile(lake.where(file)).read(["generation", "offset", "span", "lost", "value"])
        found += [tuple(one.values()) for one in table.to_pylist()]
    return sorted(found, key=lambda one: one[:2])


def expected(topic, end, generation=-7):
    return [(generation, offset, 1, 0, body(topic, offset)) for offset in range(end)]


def listed(lake, topic="*"):
    """Return the offsets found by a program that lists the Parquet files and does not know the log."""
    found = []
    for path in (lake.path / "messages").glob(f"topic={topic}/**/*.parquet"):
        found += pq.ParquetFile(path).read(["offset"])["offset"].to_pylist()
    return sorted(found)


def plan(lake, session, batch, generation=-7, **topics):
    """Write the end of a batch into the checkpoint, as Spark does: topic=(origin, next)."""
    path = lake.path / "_checkpoint" / session / "offsets" / str(batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"{generation & (1 << 64) - 1:016x}"
    ends = {
        topic: {"generation": text, "next": end, "origin": first} for topic, (first, end) in topics.items()
    }
    path.write_text("v1\n{}\n" + json.dumps({"slipring": 1, "topics": ends}))
