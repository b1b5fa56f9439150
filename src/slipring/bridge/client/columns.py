# SPDX-License-Identifier: Apache-2.0
"""Messages as an Arrow batch with the columns of Subscriber.recv_batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow

    from slipring._bus.subscriber import Message


def record_batch(topic: str, messages: Sequence[Message]) -> pyarrow.RecordBatch:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('recv_batch needs pyarrow: pip install "slipring[arrow]"') from error
    schema = pyarrow.schema(
        [
            pyarrow.field("topic", pyarrow.string(), nullable=False),
            pyarrow.field("offset", pyarrow.int64(), nullable=False),
            pyarrow.field("timestamp", pyarrow.timestamp("us", tz="UTC"), nullable=False),
            pyarrow.field("sender", pyarrow.string(), nullable=False),
            pyarrow.field("type", pyarrow.string(), nullable=False),
            pyarrow.field("value", pyarrow.binary(), nullable=False),
        ]
    )
    columns = [
        [topic] * len(messages),
        [message.seq for message in messages],
        [message.time_ns // 1000 for message in messages],
        [message.sender for message in messages],
        [message.type for message in messages],
        [bytes(message.body) for message in messages],
    ]
    arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
