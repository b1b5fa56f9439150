# SPDX-License-Identifier: Apache-2.0
"""Spark's data source "slipring": checks the options, and makes the readers and writers that Spark calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from slipring._bus.typed.error_place import name_topic
from slipring.errors import SlipringError

from ..decode.decoder import Decoder
from ..decode.schema_values import SchemaValues
from ..errors import BadOption
from . import open_topics, parsing, schema, shared_schema
from .batch_reader import BatchReader
from .options import SourceOptions
from .stream_reader import StreamReader

if TYPE_CHECKING:
    from ..sink.writer import BatchWriter, StreamWriter


class DefaultSource(DataSource):
    """The format "slipring" of ``spark.read``, ``readStream``, ``write`` and ``writeStream``."""

    # Spark pickles the source after `schema`, so that each run has the schema of the topics of that time.
    _resolved: SourceOptions | None = None

    @classmethod
    def name(cls) -> str:
        return "slipring"

    def schema(self) -> StructType:
        """Return the columns. Spark calls this when a DataFrame is made; every wrong option is found here."""
        options = self._resolved = _resolve(parsing.parse(self.options))
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
        options = self._resolved or _resolve(parsing.parse(self.options))
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


def _resolve(options: SourceOptions) -> SourceOptions:
    return shared_schema.resolve(options, open_topics.schemas(options))


def _check_decoding(options: SourceOptions, frame: StructType) -> None:
    """Raise now what workers would raise when they make a decoder: BadOption, or Corrupt for a damaged schema."""
    if options.values is None:
        return
    try:
        Decoder(options.values, options.columns, frame)
    except SlipringError as error:
        if isinstance(options.values, SchemaValues):
            name_topic(error, options.values.topic)
        raise
