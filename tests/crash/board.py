# SPDX-License-Identifier: Apache-2.0
"""Shared words of a storm or a soak. Plain memory, no Slipring; one process writes a word, so that no lock is needed.

Word 0 orders to stop publishing; 1 counts the strikes; 2 + topic is its final tail plus one (0: not known yet). Each
seat has eight words: beats, time of the last, longest gap between two since the last strike, lost, received. The same
layout is in support/c/actor.c.
"""

import mmap
import os
import time
from pathlib import Path

STOP, STRIKES, FINALS, FIRST_SEAT, SEAT_WORDS = 0, 1, 2, 8, 8
BEATS, LAST_NS, LONGEST_NS, LOST, RECEIVED = range(5)
SIZE = 4096


class Board:
    def __init__(self, path: str | Path) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(fd, SIZE)
            self._memory = mmap.mmap(fd, SIZE)
            self._words = memoryview(self._memory).cast("Q")  # read and written whole, unlike by struct
        finally:
            os.close(fd)

    def read(self, word: int) -> int:
        return self._words[word]

    def write(self, word: int, value: int) -> None:
        self._words[word] = value

    def word(self, seat: int, which: int) -> int:
        return self._words[FIRST_SEAT + seat * SEAT_WORDS + which]

    def tell(self, seat: int, which: int, value: int) -> None:
        self._words[FIRST_SEAT + seat * SEAT_WORDS + which] = value

    def beats(self, seat: int) -> int:
        return self.word(seat, BEATS)

    def beat(self, seat: int) -> None:
        self.tell(seat, BEATS, self.beats(seat) + 1)

    @property
    def stopping(self) -> bool:
        return self.read(STOP) != 0

    def order_stop(self) -> None:
        self.write(STOP, 1)

    def order_end(self, tail: int, topic: int = 0) -> None:
        self.write(FINALS + topic, tail + 1)

    def reached_end(self, position: int, topic: int = 0) -> bool:
        final = self.read(FINALS + topic)
        return final != 0 and position >= final - 1

    @property
    def strikes(self) -> int:
        return self.read(STRIKES)

    def count_strike(self) -> None:
        self.write(STRIKES, self.strikes + 1)

    def gap_ns(self, seat: int) -> int:
        """The longest wait since the last strike, the one that still lasts among them."""
        last = self.word(seat, LAST_NS)
        return max(self.word(seat, LONGEST_NS), time.monotonic_ns() - last) if last else 0

    def close(self) -> None:
        self._words.release()
        self._memory.close()


class Pulse:
    """A seat's own side: a gap that began before a strike and ended after it belongs to the strike."""

    def __init__(self, board: Board, seat: int) -> None:
        self._board, self._seat = board, seat
        self._strike, self._last, self._longest = board.strikes, 0, 0
        board.tell(seat, LAST_NS, 0)

    def beat(self) -> None:
        now = time.monotonic_ns()
        gap = now - self._last if self._last else 0
        strike = self._board.strikes
        self._longest = gap if strike != self._strike else max(self._longest, gap)
        self._strike, self._last = strike, now
        self._board.tell(self._seat, LONGEST_NS, self._longest)
        self._board.tell(self._seat, LAST_NS, now)
        self._board.beat(self._seat)
