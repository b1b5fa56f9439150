# SPDX-License-Identifier: Apache-2.0
"""Found by PySpark through its name: with it, ``format("slipring")`` works without a call to register."""

from slipring.spark.source.data_source import DefaultSource

__all__ = ["DefaultSource"]
