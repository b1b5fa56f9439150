# SPDX-License-Identifier: Apache-2.0
"""How fast topics go through Spark, beside Spark's own files in the same run: `python -m benchmarks.spark`.

rows        a topic that holds so many rows, and the same rows as Parquet files
paths       what is measured: ways through Spark, each ours and Spark's own
streams     what a micro-batch costs, and what a recording keeps up with
table       medians, spread, ratios
"""
