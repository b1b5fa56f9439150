# SPDX-License-Identifier: Apache-2.0
"""Values that are Arrow IPC streams: each row of a message's batches is a row of the DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def columns_of(
    values: pa.Array, arrow: pa.Schema
) -> tuple[list[pa.Array], list[int], dict[int, str], set[int]]:
    """Return the columns, the message of each row, the bad messages with the reason, and those without a value."""
    import pyarrow as pa

    tables, rows, bad, empty = [], [], {}, set()
    for at, value in enumerate(values):
        if not value.is_valid:
            empty.add(at)
            continue
        try:
            with pa.ipc.open_stream(value.as_buffer()) as stream:
                found = stream.read_all()
                found.validate(full=True)  # the publisher may have sent anything
                table = _fitted(found, arrow)
        except (pa.ArrowException, OSError, ValueError) as error:
            bad[at] = f"{type(error).__name__}: {error}"
            continue
        tables.append(table)
        rows += [at] * table.num_rows
    whole = pa.concat_tables([arrow.empty_table(), *tables]).combine_chunks()
    columns = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns
    ]
    return columns, rows, bad, empty


def _fitted(table: pa.Table, arrow: pa.Schema) -> pa.Table:
    """Return the columns of the schema, found by name and cast to its types; a missing column is NULL."""
    import pyarrow as pa

    columns = [
        table[name].cast(kind) if name in table.schema.names else pa.nulls(table.num_rows, kind)
        for name, kind in zip(arrow.names, arrow.types, strict=True)
    ]
    return pa.table(columns, schema=arrow)
