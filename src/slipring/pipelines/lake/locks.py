# SPDX-License-Identifier: Apache-2.0
"""Locks: one recorder and one compaction at a time.

A lock belongs to an open file. So the kernel releases it when its process ends, in whatever way.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .errors import LakeBusy, fault

if TYPE_CHECKING:
    from .lake import Lake

_DOES = {
    "record": "records into",
    "compact": "compacts",
    "delta": "updates the Delta table of",
    "topics": "notes the topics of",
}


@contextmanager
def lock(lake: Lake, purpose: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lake's lock of that purpose; LakeBusy if another process has it, unless wait is set."""
    path = lake.path / "_locks" / purpose
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise fault(error, path) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "?"
            raise LakeBusy(
                f"process {holder} {_DOES[purpose]} the lake {lake.path}: wait until it ends, or end it"
            ) from None
        with suppress(OSError):  # this only names the holder; a full disk must not prevent the lock
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
