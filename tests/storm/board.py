# SPDX-License-Identifier: Apache-2.0
"""Words shared by supervisor and workers, in plain memory without Slipring. Each has one writer, so there is no lock.

Word 0 orders the end of publishing; word 1 counts the strikes; word 2 + topic is the final tail of the topic plus one
(0: not known yet). Each worker has a row of eight words: beats, time of the last, longest gap since the last strike,
lost, received. tests/storm/c/life.c has the same layout.
"""

import mmap
import os
import time
from pathlib import Path

STOP, STRIKES, FINALS, FIRST_ROW, ROW_WORDS = 0, 1, 2, 8, 8
BEATS, LAST_NS, LONGEST_NS, LOST, RECEIVED = range(5)
SIZE = 4096


class Board:
    def __init__(self, path: str | Path) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(fd, SIZE)
            self._memory = mmap.mmap(fd, SIZE)
            self._words = memoryview(self._memory).cast("Q")  # reads and writes whole words, unlike struct
        finally:
            os.close(fd)

    def read(self, word: int) -> int:
        return self._words[word]

    def write(self, word: int, value: int) -> None:
        self._words[word] = value

    def word(self, row: int, which: int) -> int:
        return self._words[FIRST_ROW + row * ROW_WORDS + which]

    def set(self, row: int, which: int, value: int) -> None:
        self._words[FIRST_ROW + row * ROW_WORDS + which] = value

    def beats(self, row: int) -> int:
        return self.word(row, BEATS)

    def beat(self, row: int) -> None:
        self.set(row, BEATS, self.beats(row) + 1)

    @property
    def stopping(self) -> bool:
        return self.read(STOP) != 0

    def order_stop(self) -> None:
        self.write(STOP, 1)

    def order_end(self, tail: int, topic: int = 0) -> None:
        self.write(FINALS + topic, tail + 1)

    def final(self, topic: int = 0) -> int | None:
        """Return the tail at which readers of the topic may end, or None."""
        final = self.read(FINALS + topic)
        return final - 1 if final else None

    def reached_end(self, position: int, topic: int = 0) -> bool:
        final = self.final(topic)
        return final is not None and position >= final

    @property
    def strikes(self) -> int:
        return self.read(STRIKES)

    def count_strike(self) -> None:
        self.write(STRIKES, self.strikes + 1)

    def gap_ns(self, row: int) -> int:
        """Return the longest gap since the last strike, including the present one."""
        last = self.word(row, LAST_NS)
        return max(self.word(row, LONGEST_NS), time.monotonic_ns() - last) if last else 0

    def close(self) -> None:
        self._words.release()
        self._memory.close()


class Pulse:
    """A worker's access to its row. A gap that contains a strike counts for that strike."""

    def __init__(self, board: Board, row: int) -> None:
        self._board, self._row = board, row
        self._strike, self._last, self._longest = board.strikes, 0, 0
        board.set(row, LAST_NS, 0)

    def beat(self) -> None:
        now = time.monotonic_ns()
        gap = now - self._last if self._last else 0
        strike = self._board.strikes
        self._longest = gap if strike != self._strike else max(self._longest, gap)
        self._strike, self._last = strike, now
        self._board.set(self._row, LONGEST_NS, self._longest)
        self._board.set(self._row, LAST_NS, now)
        self._board.beat(self._row)
