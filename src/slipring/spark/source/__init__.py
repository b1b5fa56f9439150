# SPDX-License-Identifier: Apache-2.0
"""Read topics: options, offsets, the stream reader and its cursors, the batch reader, and the tasks of both.

Spark plans in one process per source (stream_reader.py, micro_batch_stream.py) and reads in workers (tasks.py).
Offsets and their meaning are specified in docs/spec/spark-source.md.
"""
