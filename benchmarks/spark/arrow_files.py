# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC files as a data source: as little Python as a source can be made of, and so a ceiling for all of them.

A file is a partition. A task maps it and hands its batches to Spark as they lie there: nothing is decoded, copied or
checked. What is left is what Spark asks of every Python source: a worker, a socket, and the JVM's rows. Batches have as
many bytes of bodies as those of a topic (`batchBytes`).
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from slipring.spark.source.schema import COLUMNS

BATCH_BYTES = 1 << 20

# Workers need not find this package.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def schema_of(columns: Sequence[str]) -> StructType:
    schema = StructType()
    for name in columns:
        schema = schema.add(name, COLUMNS[name])
    return schema


def write(parquet: str, folder: Path, columns: Sequence[str], size: int, files: int) -> None:
    """The rows of Parquet files once more, in so many files of the same length."""
    folder.mkdir()
    schema = to_arrow_schema(schema_of(columns), timezone="UTC")
    table = pyarrow.parquet.read_table(parquet, columns=list(columns)).cast(schema).combine_chunks()
    for at in range(files):
        first, end = (table.num_rows * edge // files for edge in (at, at + 1))
        with pa.OSFile(str(folder / f"{at}.arrow"), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(table.slice(first, end - first), max_chunksize=max(1, BATCH_BYTES // size))


class ArrowFiles(DataSource):
    """Options: path, a folder; columns, with commas."""

    @classmethod
    def name(cls) -> str:
        return "arrow_files"

    def schema(self) -> StructType:
        return schema_of(self.options["columns"].split(","))

    def reader(self, schema: StructType) -> DataSourceReader:
        return ArrowReader(self.options["path"], schema.names)


class ArrowReader(DataSourceReader):
    def __init__(self, folder: str, columns: list[str]) -> None:
        self._folder, self._columns = folder, columns

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(str(path)) for path in sorted(Path(self._folder).glob("*.arrow"))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        with pa.memory_map(partition.value) as file:
            found = pa.ipc.open_file(file)
            for at in range(found.num_record_batches):
                yield found.get_batch(at).select(self._columns)
