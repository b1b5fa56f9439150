# SPDX-License-Identifier: Apache-2.0
"""Spark's data source "slipring": what Spark asks of it, handed to the reader or writer that answers."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource


class DefaultSource(DataSource):
    """``spark.readStream.format("slipring")`` and the like."""

    @classmethod
    def name(cls) -> str:
        return "slipring"
