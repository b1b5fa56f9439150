# SPDX-License-Identifier: Apache-2.0
"""Arrow batches in Python: the package they need, the columns they have, and several as one."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as arrow

    from .native import _native


class ArrowBatch:
    """The two capsules of a batch of the compiled part, for pyarrow (the Arrow PyCapsule protocol)."""

    __slots__ = ("_capsules",)

    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def pyarrow() -> types.ModuleType:
    """Import pyarrow; an ImportError names the extra that brings it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('recv_batch needs pyarrow: pip install "slipring[arrow]"') from error
    found: types.ModuleType = pyarrow
    if sys.modules.get("IPython") is not None:
        from . import notebook

        notebook.show_batches(found, columns(found))
    return found


def columns(pa: Any) -> arrow.Schema:
    """Return the columns of `Subscriber.recv_batch`, as the core makes them."""
    kinds: dict[str, Any] = {
        "topic": pa.string(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "sender": pa.string(),
        "type": pa.string(),
        "value": pa.binary(),
    }
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


def joined(batches: list[arrow.RecordBatch], schema: arrow.Schema | None = None) -> arrow.RecordBatch:
    """Return one batch with the rows of all. schema: the columns when there is none."""
    pa = pyarrow()
    if not batches:
        return pa.RecordBatch.from_pylist([], schema=columns(pa) if schema is None else schema)
    if len(batches) == 1:
        return batches[0]
    return (pa.Table.from_batches(batches).combine_chunks().to_batches() or batches)[0]


def of_messages(messages: list[_native.Message]) -> arrow.RecordBatch:
    """Return messages as one batch."""
    pa = pyarrow()
    values = [
        [message.topic for message in messages],
        [message.seq for message in messages],
        [message.time_ns // 1000 for message in messages],
        [message.sender for message in messages],
        [message.type for message in messages],
        [bytes(message.body) for message in messages],
    ]
    found = columns(pa)
    arrays = [pa.array(column, field.type) for column, field in zip(values, found, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=found)
