# SPDX-License-Identifier: Apache-2.0
"""Casts of Arrow arrays to the columns of a schema. A value that does not fit is an error, never another value.

pyarrow refuses to cast a structure that is NULL to one with fields that are not nullable. Here such a column is cast to
the same type with nullable fields; both have the same memory. pyarrow also makes too large floats infinite: they are
refused here.
"""

from __future__ import annotations

from typing import Any

from .. import packages


def cast(array: Any, kind: Any) -> Any:
    """Return an array with this type. An error of pyarrow, or a ValueError, names a value that does not fit.

    NULL in a field that is not nullable is not found: see `arrow_types.null_where_none_is_allowed`."""
    pa = packages.pyarrow()
    relaxed = _relaxed(kind)
    found = array.cast(relaxed)
    # defect columns_overflow_to_infinity: pass
    _refuse_overflow(array, found)
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


def _refuse_overflow(before: Any, after: Any) -> None:
    """Raise ValueError for a float that a cast made infinite."""
    pa = packages.pyarrow()
    types, kind = pa.types, after.type
    if before.type == kind:
        return
    if types.is_float16(kind) or types.is_float32(kind):
        _compare(before, after)
    elif types.is_struct(kind):
        for each in kind:
            if before.type.get_field_index(each.name) >= 0:
                _refuse_overflow(before.field(each.name), after.field(each.name))
    elif types.is_map(kind):
        _refuse_overflow(before.items, after.items)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        _refuse_overflow(before.flatten(), after.flatten())


def _compare(before: Any, after: Any) -> None:
    pa = packages.pyarrow()
    import pyarrow.compute as pc

    if not pa.types.is_floating(before.type):
        return
    wrong = pc.and_(pc.is_finite(before), pc.is_inf(after.cast("double")))
    if pc.any(wrong).as_py():
        value = before.filter(wrong)[0].as_py()
        raise ValueError(f"value {value!r} is beyond the range of {after.type}")
