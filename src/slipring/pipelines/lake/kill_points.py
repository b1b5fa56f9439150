# SPDX-License-Identifier: Apache-2.0
"""Named points between the steps of a commit.

`reached` does nothing. A test replaces it in a process of its own, and kills the process at one of the points: at a
step of the commit, not after some time.
"""

from __future__ import annotations

KILL_POINTS = (
    "batch staged",  # files are written, nothing names them
    "entry written",  # the log entry has a temporary name
    "entry linked",  # the commit
    "file moved",  # one file of the entry is in place, the others are not
    "batch committed",  # all files are in place, Spark does not know yet
    "compaction staged",
    "compaction linked",
    "file held",  # one replaced file has its second name, and still its first
    "file hidden",  # one replaced file is out of messages/, the others are not
    "delta committed",  # the Delta table has one more entry of the log
    "file cleared",  # one replaced file is deleted, the others are not
)


def reached(point: str) -> None:
    """Called at each point with its name."""
