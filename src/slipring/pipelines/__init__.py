# SPDX-License-Identifier: Apache-2.0
"""Spark jobs over topics: record them into a lake, replay a recording, report on it.

record        topics into a lake
replay        a recording published again
report        tables of a recording, and a page
lake          a recording on disk
declarative   Spark's declarative pipelines between topics and tables: init, run
job_session   the Spark session of a job; jvm, class_archive: its JVM
job_progress  figures of a running job; notebook_html, html: how they are displayed
errors        why a job failed

Neither Spark nor pyarrow is imported before it is used.
"""

from .record.record import record
from .replay.replay import replay
from .report import report

__all__ = ["record", "replay", "report"]
