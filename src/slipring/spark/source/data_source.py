# SPDX-License-Identifier: Apache-2.0
"""Spark's data source "slipring": what Spark asks of it, handed to the reader or writer that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from ..decode import decoding
from ..errors import BadOption
from . import parsing, schema, topics
from .batch_reader import BatchReader
from .options import SourceOptions
from .stream_reader import StreamReader

if TYPE_CHECKING:
    from ..sink.writer import BatchWriter, StreamWriter


class DefaultSource(DataSource):
    """``spark.readStream.format("slipring")`` and the like."""

    @classmethod
    def name(cls) -> str:
        return "slipring"

    def schema(self) -> StructType:
        """Asked when a DataFrame is made: everything that can be wrong with its options is found here."""
        given = parsing.parse(self.options)
        frame = schema.of_frame(given)
        decoding.check(given)
        # defect spark_topics_checked_late: pass
        topics.check(given)
        return frame

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(self._checked(schema).for_batch())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return StreamReader(self._checked(schema).for_stream())

    def _checked(self, given: StructType) -> SourceOptions:
        found = parsing.parse(self.options)
        if given != schema.of_frame(found):
            raise BadOption("columns", "the columns follow from the options: leave .schema(...) out")
        decoding.check(found)
        return found

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from ..sink.writer import StreamWriter

        return StreamWriter(self.options, schema)  # "complete" results are published as a whole, each time

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from ..sink.writer import BatchWriter

        return BatchWriter(self.options, schema, overwrite)
