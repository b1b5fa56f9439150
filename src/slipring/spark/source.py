# SPDX-License-Identifier: Apache-2.0
"""Spark's data source "slipring": what Spark asks of it, handed to the reader or writer that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from .sink import BatchWriter, StreamWriter


class DefaultSource(DataSource):
    """``spark.readStream.format("slipring")`` and the like."""

    @classmethod
    def name(cls) -> str:
        return "slipring"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from .sink import StreamWriter

        return StreamWriter(self.options, schema)  # "complete" results are published as a whole, each time

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from .sink import BatchWriter

        return BatchWriter(self.options, schema, overwrite)
