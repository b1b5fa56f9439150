# SPDX-License-Identifier: Apache-2.0
"""Spark jobs over topics: recording into a lake, replay from it, reports on it.

record   topics into a lake: record; where it begins (beginnings, hosts), what topics have (tails), when it is over
         (limits, ends), the query (recorder, recording_source, batches, batch_plan), how it ends (endings)
replay   a recording published again (replay, replay_range, _order, _feed, _pace, _topics)
report   tables of a recording, and a page
lake     what a recording is on disk
declarative   Spark's own pipelines between topics and tables: init, run
jvm, class_archive   Spark's process for jobs that start their own
progress, failures   how far a job is, and why it ended; shared by all jobs

Nothing here loads Spark or pyarrow until it is used.
"""

from .record.record import record
from .replay.replay import replay
from .report import report

__all__ = ["record", "replay", "report"]
