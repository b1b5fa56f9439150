# SPDX-License-Identifier: Apache-2.0
"""Report: a recording's tables as DataFrames, for notebooks and for the page.

    report = Report(spark, Lake.open("lake/").read(spark))
    report.topics().show()

A table is computed when it is used. ``with report:`` keeps the rows without their bodies between tables.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from slipring.errors import BadArgument

from . import calls, fields, timing, traffic
from .fields import Fields
from .rows import narrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Report:
    """The tables of a recording; ``rows`` has the columns of a lake, ``known`` its numeric fields (fields.recorded).

    Times are nanoseconds of the wall clock (``_ns``), lengths of time seconds (``_s``), sizes bytes.
    """

    def __init__(self, spark: SparkSession, rows: DataFrame, known: Fields | None = None) -> None:
        self.spark = spark
        self.rows = rows
        self.known = known or Fields()
        self._narrow = timing.timed(narrow(rows))
        self._gaps = timing.gaps(self._narrow)
        self._decoded = calls.decoded(rows)

    def topics(self) -> DataFrame:
        """Messages, bytes, rates, gaps and losses of each topic; percentiles of its sizes, of the time between
        its messages and of the delay from publishing to recording; its longest silence."""
        return traffic.topics(self._narrow)

    def senders(self) -> DataFrame:
        """The same for each sender on each topic, without gaps, which have no sender."""
        return traffic.senders(self._narrow)

    def types(self) -> DataFrame:
        """Messages, bytes, rates and sizes of each type on each topic."""
        return traffic.types(self._narrow)

    def gaps(self) -> DataFrame:
        """Every hole in the sequences with its losses, in order of time."""
        return self._gaps.orderBy("at_ns", "topic", "offset")

    def busiest(self, count: int = 10) -> DataFrame:
        """The minutes with most messages."""
        if not 0 < count < 2**31:
            raise BadArgument(f"count={count} must be at least 1", argument="count")
        return traffic.busiest(self._narrow, count)

    def rates(self, seconds: float = 1.0, begin_ns: int = 0) -> DataFrame:
        """Messages, bytes and losses of each topic in steps of so many seconds, counted from ``begin_ns``."""
        if not 1e-9 <= seconds < 1e9:
            raise BadArgument(f"seconds={seconds} must be above 0", argument="seconds")
        return traffic.rates(self._narrow, self._gaps, round(seconds * 1e9), begin_ns)

    def distributions(self) -> DataFrame:
        """Distributions of ``size`` (bytes), ``interval`` and ``delay`` (ns) over a logarithmic scale."""
        measures = {"size": "size", "interval": "interval_ns", "delay": "delay_ns"}
        return timing.distributions(self._narrow, measures)

    @cached_property
    def _calls(self) -> DataFrame:
        return calls.each(self._decoded)

    def calls(self) -> DataFrame:
        """Calls by service and method: their number, outcomes and durations."""
        return calls.by_method(self._calls)

    def each_call(self) -> DataFrame:
        """One row for each call."""
        return self._calls

    def call_errors(self) -> DataFrame:
        """Answers that were errors, by method, reason and type."""
        return calls.errors(self._calls)

    def malformed_calls(self) -> DataFrame:
        """Messages of another form on topics of calls: service, messages."""
        return self._decoded.where("kind = 'malformed'").groupBy("service").count().orderBy("service")

    def fields(self) -> DataFrame:
        """Figures of each numeric field of typed topics: values, minimum, quantiles, maximum, NaN and NULL."""
        series = [(at, one.topic, one.path, one.type) for at, one in enumerate(self.known.series)]
        names = self.spark.createDataFrame(series, "series int, topic string, field string, type string")
        figures = fields.table(self.rows, self.known).drop("why")
        return names.join(figures, "series", "left").orderBy("series").drop("series")

    def __enter__(self) -> Self:
        for kept in (self._narrow, self._gaps, self._decoded):
            kept.persist()
        return self

    def __exit__(self, *exc: Any) -> None:
        for kept in (self._narrow, self._gaps, self._decoded):
            kept.unpersist()
