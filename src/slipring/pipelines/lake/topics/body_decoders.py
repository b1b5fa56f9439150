# SPDX-License-Identifier: Apache-2.0
"""Recorded bodies: cut by topic and generation, and the decoder of each schema. None of it needs Spark."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from .selection import Key

if TYPE_CHECKING:
    import pyarrow as pa

    from slipring._bus.schema.row_batches import BatchDecoder
    from slipring._bus.schema.topic_schema import Schema


@lru_cache(maxsize=64)
def decoder(schema: Schema) -> BatchDecoder:
    """Return the decoder of a schema, made once in a process."""
    from slipring._bus.schema.row_batches import BatchDecoder

    return BatchDecoder(schema)


def by_generation(batch: pa.RecordBatch) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """Cut a batch by topic and generation. Most batches have one of each."""
    import pyarrow.compute as pc

    topics, generations = (pc.unique(batch[name]).to_pylist() for name in ("topic", "generation"))
    if len(topics) == len(generations) == 1:
        yield (topics[0], generations[0]), batch
        return
    for topic in topics:
        of_topic = batch.filter(pc.equal(batch["topic"], topic))
        for generation in pc.unique(of_topic["generation"]).to_pylist():
            yield (topic, generation), of_topic.filter(pc.equal(of_topic["generation"], generation))
