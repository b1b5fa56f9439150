# SPDX-License-Identifier: Apache-2.0
"""Named places between the steps of a commit.

Nothing happens at them. Tests put their own function here, in a process of its own, and kill it at one: so
they kill at a place, not at a time.
"""

from __future__ import annotations

PLACES = (
    "batch staged",  # files are written, nothing names them
    "entry written",  # the log entry has a temporary name
    "entry linked",  # the commit point
    "file moved",  # one file of the entry is in place, the others are not
    "batch committed",  # all is in place, Spark does not know yet
    "compaction staged",
    "compaction linked",
    "file held",  # one replaced file has its second name, and still its first
    "file hidden",  # one replaced file is out of messages/, the others are not
    "delta committed",  # the Delta table has one more entry of the log
    "file cleared",  # one replaced file is deleted, the others are not
)


def reached(place: str) -> None:
    """Called at each place with its name."""
