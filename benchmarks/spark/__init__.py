# SPDX-License-Identifier: Apache-2.0
"""How fast topics go through Spark, beside Spark's own files and sources in the same run: `python -m benchmarks.spark`.

rows        a topic that holds so many rows, and the same rows as Parquet and as Arrow IPC files
arrow_files the Arrow IPC files, and the barest Python source that reads them
paths       ways through Spark in batch, each ours and Spark's own
sources     streaming sources side by side
streams     what a micro-batch costs, and what a recording keeps up with
delay       from a send into the lake
replays     how fast a recording is published again
run         all of it, in rounds
table       medians, spread, ratios
picture     the same as a picture
"""
