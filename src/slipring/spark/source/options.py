# SPDX-License-Identifier: Apache-2.0
"""The options of the source, checked when a DataFrame is made.

What an option means is in docs/spec/spark-source.md. Whether a DataFrame is a stream is not known when it is
made, so that the few rules that depend on it are checked when it is first used: `for_stream`, `for_batch`.
"""

from __future__ import annotations

from dataclasses import dataclass

import slipring
from slipring._bus.bus import Bus

from ..errors import BadOption
from . import start_offsets as places
from .start_offsets import Place

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
    *("valueFormat", "valueSchema", "valueDtype", "mode"),
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
    starting: Place | None
    ending: Place | None
    max_rows: int | None
    max_bytes: int | None
    min_rows: int | None
    max_delay_s: float
    min_partitions: int | None
    max_records: int | None
    fail_on_loss: bool
    columns: tuple[str, ...]
    gaps: bool
    batch_bytes: int
    value_format: str | None
    value_schema: str | None
    value_dtype: str | None
    mode: str

    def open(self) -> Bus:
        return slipring.Bus(self.bus, root=self.root)

    def for_stream(self) -> SourceOptions:
        for option in BATCH_ONLY:
            if option in self.given:
                raise BadOption(option, "a stream has no end: use spark.read, or leave it out")
        return self

    def for_batch(self) -> SourceOptions:
        for option in STREAM_ONLY:
            if option in self.given:
                raise BadOption(option, "it is for streams: use spark.readStream, or leave it out")
        for place, word in ((self.starting, places.LATEST), (self.ending, places.EARLIEST)):
            if place and place.time_ns is None and word in (place.word, *place.sequences.values()):
                raise BadOption(place.option, f"{word} leaves nothing to read: choose another place")
        return self
