# SPDX-License-Identifier: Apache-2.0
"""A stream reader called as Spark does, without Spark, in the order of docs/spec/spark-source.md.

reader = Driven(bus, subscribe="imu", startingOffsets="earliest")
reader.batch()      # the rows of the next batch, logged and read, as dicts; [] if there is none
reader.restart()    # the source process dies, the log remains
"""

import json
import pickle

from pyspark.sql.streaming.datasource import ReadAllAvailable

from slipring.spark.source.data_source import DefaultSource


def as_stored(offset):
    """Return offsets as Spark reads them from its log."""
    return json.loads(json.dumps(offset))


class Driven:
    def __init__(self, bus, **options):
        self._given = {
            "bus": bus.name,
            "root": bus.root,
            **{key: str(value) for key, value in options.items()},
        }
        self.logged = []  # ends of batches; the last may be uncommitted
        self.committed = 0  # batches
        self.reader = None
        self.restart()

    def restart(self, **changed):
        if self.reader is not None:
            self.reader.stop()
        self._given |= changed
        source = DefaultSource(self._given)
        self.reader = source.streamReader(source.schema())

    def stop(self):
        self.reader.stop()

    def start_of(self, number):
        return self.logged[number - 1] if number else as_stored(self.reader.initialOffset())

    def log(self, limit=None):
        """Log the result of latestOffset; return False if it is not new."""
        number = len(self.logged)
        start = self.start_of(number)
        limit = self.reader.getDefaultReadLimit() if limit is None else limit
        end = as_stored(self.reader.latestOffset(start, limit))
        if json.dumps(end) == json.dumps(start):
            return False
        self.logged.append(end)
        if number:
            self.reader.commit(self.logged[number - 1])
        return True

    def read(self):
        """Return the rows of the newest batch, read from pickled copies as workers do."""
        number = len(self.logged) - 1
        partitions = self.reader.partitions(self.start_of(number), self.logged[number])
        copies = [pickle.loads(pickle.dumps((self.reader, partition))) for partition in partitions]
        self.partitions = len(copies)
        return [row for copy, part in copies for batch in copy.read(part) for row in batch.to_pylist()]

    def batch(self, limit=None):
        if not self.log(limit):
            return []
        return self.read()

    def everything(self):
        return self.batch(ReadAllAvailable())


def values(rows):
    return [row["value"] for row in rows]


def position(bus, name="g"):
    """Return the position of a cursor on topic cmd."""
    return {cursor["name"]: cursor["position"] for cursor in bus.cursors("cmd")}.get(name)
