# SPDX-License-Identifier: Apache-2.0
"""A lake: recordings of topics as Parquet files, and a log that says which of them count.

directory   Lake: create, open, commit, read
log, model  the log entries and what they add up to
facts       what the log says of a Parquet file
reading     the rows as a Spark DataFrame
held        second names of files, so that a compaction can take the first away
holes       rows for offsets that no task read
places      named places at which tests kill
"""

from .directory import Lake
from .errors import DamagedLake, LakeBusy, LakeFull, MissingExtra, NotALake, NotLocal, OtherHostsRecording

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
