# SPDX-License-Identifier: Apache-2.0
"""Loss reported by the tasks of a stream to the source process (failOnDataLoss=false).

Spark has no metrics for Python sources, and workers can send back only rows. Therefore the source process has an
anonymous file in memory. Workers reach it through /proc and append a line. The file disappears with the process.
"""

from __future__ import annotations

import os

from .offset_ranges import Range

RECENT = 1000  # tasks that Spark may still retry


class LossReport:
    def __init__(self) -> None:
        self._fd = os.memfd_create("slipring-lost", os.MFD_CLOEXEC)
        self.path = f"/proc/{os.getpid()}/fd/{self._fd}"
        self._read = 0
        self._tasks: dict[tuple[str, ...], int] = {}
        self._totals: dict[str, int] = {}

    def by_topic(self) -> dict[str, int]:
        """Return the messages lost so far on each topic. A retried task counts once."""
        unread = os.pread(self._fd, os.fstat(self._fd).st_size - self._read, self._read)
        self._read += len(unread)
        for line in unread.decode().splitlines():
            *task, lost = line.split(" ")
            before = self._tasks.pop(tuple(task), 0)
            self._tasks[tuple(task)] = max(int(lost), before)
            self._totals[task[0]] = self._totals.get(task[0], 0) + max(0, int(lost) - before)
        while len(self._tasks) > RECENT:
            self._tasks.pop(next(iter(self._tasks)))
        return dict(sorted(self._totals.items()))

    def close(self) -> None:
        os.close(self._fd)


def add(path: str, piece: Range, lost: int) -> bool:
    """Report a loss; return False if the source process has ended or is not visible from here."""
    line = f"{piece.topic} {piece.generation:x} {piece.start} {lost}\n"  # names of topics have no spaces
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)
    return True
