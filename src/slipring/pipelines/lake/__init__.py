# SPDX-License-Identifier: Apache-2.0
"""A lake: recordings of topics as Parquet files, and a log that names the files that count.

In reading order:

lake, marker            Lake: create, open, begin, commit, read; the file that makes a directory a lake
log, model, validation  log entries and the state they add up to; checks of untrusted input
stage, row_files        files before they are committed; file_facts: their description in the log
held, locks             second names for readers of replaced files; one writer at a time
generations             what is recorded, by topic and generation
reading, delta          the rows as a Spark DataFrame; the same as a Delta table
topics/                 settings and schemas of topics; bodies of typed topics as columns, and views for SQL
compact, verify         merge small files; check everything
kill_points             steps of a commit at which tests kill a process
"""

from ..errors import MissingExtra
from .errors import DamagedLake, LakeBusy, LakeFull, NotALake, NotLocal, OtherHostsRecording
from .lake import Lake

__all__ = [
    "DamagedLake",
    "Lake",
    "LakeBusy",
    "LakeFull",
    "MissingExtra",
    "NotALake",
    "NotLocal",
    "OtherHostsRecording",
]
