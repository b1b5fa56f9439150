# SPDX-License-Identifier: Apache-2.0
"""Arrow batches in Python: the package they need, the columns they have, and several as one."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as arrow


def pyarrow() -> types.ModuleType:
    """The package; an ImportError says which extra brings it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('recv_batch needs pyarrow: pip install "slipring[arrow]"') from error
    found: types.ModuleType = pyarrow
    if sys.modules.get("IPython") is not None:
        from . import notebook

        notebook.show_batches(found)
    return found


def schema() -> arrow.Schema:
    """The columns of `Subscriber.recv_batch`, as the core makes them."""
    pa = pyarrow()
    columns: dict[str, Any] = {
        "topic": pa.string(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "sender": pa.string(),
        "type": pa.string(),
        "value": pa.binary(),
    }
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


def joined(batches: list[arrow.RecordBatch]) -> arrow.RecordBatch:
    """One batch with the rows of all."""
    pa = pyarrow()
    if not batches:
        return pa.RecordBatch.from_pylist([], schema=schema())
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
