# SPDX-License-Identifier: Apache-2.0
"""The options of the source, checked when a DataFrame is made (parsing.py).

docs/spec/spark-source.md defines them. When a DataFrame is made, it is not known whether it is a stream. The rules that
depend on that are checked when it is first used: `for_stream`, `for_batch`.
"""

from __future__ import annotations

from dataclasses import dataclass

import slipring
from slipring._bus.bus import Bus

from ..decode import value_options
from ..decode.schema_values import SchemaValues
from ..decode.value_options import ValueOptions
from ..errors import BadOption
from . import start_offsets
from .start_offsets import OffsetBound

STREAM_ONLY = (
    "groupId",
    "groupExpires",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
)
BATCH_ONLY = ("endingOffsets", "endingTimestamp")
KNOWN = (
    *("bus", "root", "subscribe", "subscribePattern", "startingOffsets", "startingTimestamp"),
    *STREAM_ONLY,
    *BATCH_ONLY,
    *("minPartitions", "maxRecordsPerPartition", "failOnDataLoss", "columns", "includeGaps", "batchBytes"),
    *value_options.NAMES,
)


@dataclass(frozen=True)
class SourceOptions:
    given: frozenset[str]
    bus: str
    root: str
    topics: tuple[str, ...]
    pattern: str | None
    group: str | None
    group_expires_s: float | None
    starting: OffsetBound | None
    ending: OffsetBound | None
    max_rows: int | None
    max_bytes: int | None
    min_rows: int | None
    max_delay_s: float
    min_partitions: int | None
    max_records: int | None
    fail_on_loss: bool
    columns: tuple[str, ...]  # of the message; with auto, fields too until `shared_schema.resolve`
    gaps: bool
    batch_bytes: int
    mode: str
    values: ValueOptions | SchemaValues | None  # None: values are not decoded
    auto: bool  # decode by the topics' schema, if they have one
    one_schema: bool = False  # all topics must have the schema of `values`, or none

    def open(self) -> Bus:
        return slipring.Bus(self.bus, root=self.root)

    def for_stream(self) -> SourceOptions:
        for option in BATCH_ONLY:
            if option in self.given:
                raise BadOption(option, "a stream has no end: use spark.read, or omit the option")
        return self

    def for_batch(self) -> SourceOptions:
        for option in STREAM_ONLY:
            if option in self.given:
                raise BadOption(option, "it is for streams: use spark.readStream, or omit the option")
        for bound, word in ((self.starting, start_offsets.LATEST), (self.ending, start_offsets.EARLIEST)):
            if bound and bound.time_ns is None and word in (bound.word, *bound.sequences.values()):
                raise BadOption(bound.option, f"{word} leaves nothing to read: choose another offset or time")
        return self
