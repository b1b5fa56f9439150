# SPDX-License-Identifier: Apache-2.0
"""Casts of Arrow arrays to the columns of a schema, also of optional structures with required fields.

pyarrow refuses to cast a structure that is NULL to one with fields that are not nullable. Here such a column is cast to
the same type with nullable fields; both have the same memory.
"""

from __future__ import annotations

from typing import Any

from .. import packages


def cast(array: Any, kind: Any) -> Any:
    """Return an array with this type. An error of pyarrow names a value that does not fit.

    NULL in a field that is not nullable is not found: see `arrow_types.null_where_none_is_allowed`."""
    pa = packages.pyarrow()
    relaxed = _relaxed(kind)
    found = array.cast(relaxed)
    if relaxed == kind:
        return found
    data = pa.RecordBatch.from_arrays([found], names=["x"]).serialize()
    return pa.ipc.read_record_batch(data, pa.schema([pa.field("x", kind)])).column(0)


def _relaxed(kind: Any) -> Any:
    """Return the type with all fields of structures nullable."""
    pa = packages.pyarrow()
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_relaxed(each.type)).with_nullable(True) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_relaxed(kind.item_type)))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return kind
    item = kind.value_field.with_type(_relaxed(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(item, kind.list_size)
    return pa.list_(item) if pa.types.is_list(kind) else pa.large_list(item)
