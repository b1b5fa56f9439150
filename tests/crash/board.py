# SPDX-License-Identifier: Apache-2.0
"""Shared words of a storm: one heartbeat a process, and what the conductor orders. Plain memory, no Slipring.

Word 0 is the order to stop publishing, word 1 the final tail plus one (0: not known yet); a process counts
its progress in the word of its seat. One process writes a word, so that no lock is needed.
"""

import mmap
import os
from pathlib import Path

STOP, FINAL, FIRST_SEAT = 0, 1, 8
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

    def beats(self, seat: int) -> int:
        return self.read(FIRST_SEAT + seat)

    def beat(self, seat: int) -> None:
        self.write(FIRST_SEAT + seat, self.beats(seat) + 1)

    @property
    def stopping(self) -> bool:
        return self.read(STOP) != 0

    def order_stop(self) -> None:
        self.write(STOP, 1)

    def order_final(self, tail: int) -> None:
        self.write(FINAL, tail + 1)

    def passed_final(self, position: int) -> bool:
        final = self.read(FINAL)
        return final != 0 and position >= final - 1

    def close(self) -> None:
        self._words.release()
        self._memory.close()
