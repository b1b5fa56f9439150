# SPDX-License-Identifier: Apache-2.0
"""Spark's data source "slipring": checks the options, and makes the readers and writers that Spark calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from ..decode.decoder import Decoder
from ..errors import BadOption
from . import open_topics, parsing, schema
from .batch_reader import BatchReader
from .options import SourceOptions
from .stream_reader import StreamReader

if TYPE_CHECKING:
    from ..sink.writer import BatchWriter, StreamWriter


class DefaultSource(DataSource):
    """The format "slipring" of ``spark.read``, ``readStream``, ``write`` and ``writeStream``."""

    @classmethod
    def name(cls) -> str:
        return "slipring"

    def schema(self) -> StructType:
        """Return the columns. Spark calls this when a DataFrame is made; every wrong option is found here."""
        options = parsing.parse(self.options)
        frame = schema.of_frame(options)
        _check_decoding(options, frame)
        # defect spark_topics_checked_late: pass
        open_topics.check(options)
        return frame

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(self._checked(schema).for_batch())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return StreamReader(self._checked(schema).for_stream())

    def _checked(self, given: StructType) -> SourceOptions:
        options = parsing.parse(self.options)
        if given != schema.of_frame(options):
            raise BadOption("columns", "the options determine the columns: leave .schema(...) out")
        _check_decoding(options, given)
        return options

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from ..sink.writer import StreamWriter

        # overwrite: output mode "complete", in which each batch publishes the whole result
        return StreamWriter(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from ..sink.writer import BatchWriter

        return BatchWriter(self.options, schema, overwrite)


def _check_decoding(options: SourceOptions, frame: StructType) -> None:
    """Raise BadOption now for options of which workers could not make a decoder."""
    if options.values is not None:
        Decoder(options.values, options.columns, frame)
