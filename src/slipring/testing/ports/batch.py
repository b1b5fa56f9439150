# SPDX-License-Identifier: Apache-2.0
"""Messages as an Arrow batch with the columns of `Subscriber.recv_batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

if TYPE_CHECKING:
    import pyarrow

    from .subscriber import SteppedSubscriber


def receive(subscriber: SteppedSubscriber, n: SupportsIndex, timeout: float | None) -> pyarrow.RecordBatch:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('recv_batch needs pyarrow: pip install "slipring[arrow]"') from error
    messages = subscriber.recv_many(n, timeout)
    columns = {
        "topic": (pyarrow.string(), [subscriber.topic] * len(messages)),
        "offset": (pyarrow.int64(), [message.seq for message in messages]),
        "timestamp": (pyarrow.timestamp("us", tz="UTC"), [message.time_ns // 1000 for message in messages]),
        "sender": (pyarrow.string(), [message.sender for message in messages]),
        "type": (pyarrow.string(), [message.type for message in messages]),
        "value": (pyarrow.binary(), [message.body for message in messages]),
    }
    arrays = [pyarrow.array(values, type=kind) for kind, values in columns.values()]
    return pyarrow.record_batch(arrays, names=list(columns))
