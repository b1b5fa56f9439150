# SPDX-License-Identifier: Apache-2.0
"""Values of typed topics: the fields of the topic's schema are columns, with Spark's types (docs/spec/schema.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import types as T

from slipring._bus.typed import stored

from . import ddl

if TYPE_CHECKING:
    import pyarrow as pa

    from slipring._bus.schema.topic_schema import Schema


@dataclass(frozen=True)
class SchemaValues:
    """The fields that are columns of a DataFrame.

    data: the bytes of the schema. topic: one of the topics that have it. names: the fields, in order of the columns."""

    data: bytes
    topic: str
    names: tuple[str, ...]
    mode: str

    @property
    def schema(self) -> Schema:
        return stored.schema_of(self.data)

    def columns(self) -> T.StructType:
        """Return the decoded columns."""
        fields = {field.name: field for field in ddl.parse(self.schema.ddl).fields}
        return T.StructType([fields[name] for name in self.names])


@dataclass
class SchemaRows:
    """columns: of Spark's types. rows: the message of each row; None: one row for each. bad: why a message has none."""

    columns: list[pa.Array]
    rows: list[int] | None
    bad: dict[int, str]


def decoder(values: SchemaValues, arrow: pa.Schema) -> Callable[[pa.Array], SchemaRows]:
    """Return the function that decodes bodies, none of them NULL. arrow: the columns that Spark expects."""
    from slipring._bus.schema.row_batches import BatchDecoder

    decode = BatchDecoder(values.schema).decode

    def columns_of(bodies: pa.Array) -> SchemaRows:
        found = decode(bodies)
        columns = [_fitted(found.batch.column(field.name), field.type) for field in arrow]
        return SchemaRows(columns, found.rows, {at: str(error) for at, error in found.bad.items()})

    return columns_of


def _fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column with Spark's type, which has all values of the field's; nanoseconds become microseconds."""
    return column if column.type == kind else column.cast(kind, safe=False)
