# SPDX-License-Identifier: Apache-2.0
"""What the tasks of a stream lost (failOnDataLoss=false), brought back to the source process for its report.

Spark has no metrics for Python sources, and workers no way back but their rows. So the source process has a
nameless file in memory, which workers reach through /proc and append a line to. It is gone with the process.
"""

from __future__ import annotations

import os

from .plan import Range


class Tally:
    def __init__(self) -> None:
        self._fd = os.memfd_create("slipring-lost", os.MFD_CLOEXEC)
        self.path = f"/proc/{os.getpid()}/fd/{self._fd}"

    def by_topic(self) -> dict[str, int]:
        """Messages lost so far. A task that was tried again counts once."""
        size = os.fstat(self._fd).st_size
        counts: dict[tuple[str, ...], int] = {}
        for line in os.pread(self._fd, size, 0).decode().splitlines():
            *task, lost = line.split(" ")
            counts[tuple(task)] = max(int(lost), counts.get(tuple(task), 0))
        totals: dict[str, int] = {}
        for (topic, *_), count in sorted(counts.items()):
            totals[topic] = totals.get(topic, 0) + count
        return totals

    def close(self) -> None:
        os.close(self._fd)


def add(path: str, piece: Range, lost: int) -> bool:
    """Whether the source process could be told; it may be gone, or out of sight."""
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
