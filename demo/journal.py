# SPDX-License-Identifier: Apache-2.0
"""What a process did, in records of 48 bytes, appended with one write a deed.

What was written outlives the process, so SIGKILL loses at most the deed between the bus call and the write;
the audit knows that window. A half-written last record is ignored.

    HELLO                                          the process heeds signals from here on
    START      position, received, lost, filtered  a reading begins
    SENT       seq, identity                       send or loan returned
    ABORTED    identity                            a loan was given up on purpose
    SKIPPED    -                                   a lossy send was refused: a held message is in the way
    GOT        seq, identity, sent_ns              a message was read and its checksum is right
    CORRUPT    seq                                 ... is wrong, or the message changed while it was held
    COUNT      position, received, lost, filtered  the reader's own account, right after the GOTs above it
    HANDLED    seq, identity                       a command was carried out
    COMMITTED  position                            the cursor's commit returned
    QUIET                                          a member sends no more
    DONE                                           a reading came to the end of its topic in good order
"""

import os
import struct
import time
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

_RECORD = struct.Struct("<BB6xQQQQQ")


class Kind(IntEnum):
    HELLO = 1
    START = 2
    SENT = 3
    ABORTED = 4
    SKIPPED = 5
    GOT = 6
    CORRUPT = 7
    COUNT = 8
    HANDLED = 9
    COMMITTED = 10
    QUIET = 11
    DONE = 12


class Record(NamedTuple):
    kind: int
    topic: int  # index into cast.TOPIC_NAMES
    time_ns: int  # CLOCK_MONOTONIC
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


class Journal:
    def __init__(self, path: str | Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, kind: Kind, topic: int = 0, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> None:
        os.write(self._fd, _RECORD.pack(kind, topic, time.monotonic_ns(), a, b, c, d))

    def write_all(self, records: list[Record]) -> None:
        os.write(self._fd, b"".join(_RECORD.pack(*record) for record in records))

    def close(self) -> None:
        os.close(self._fd)


def parse(data: bytes) -> Iterator[Record]:
    whole = len(data) // _RECORD.size * _RECORD.size
    return map(Record._make, _RECORD.iter_unpack(data[:whole]))


def read(path: Path, most: int = -1) -> list[Record]:
    """All records, or the first `most`."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        return list(parse(file.read(most * _RECORD.size if most >= 0 else -1)))


class Tail:
    """Follows a journal while it is being written."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def more(self) -> list[Record]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        records = list(parse(data))
        self._offset += len(records) * _RECORD.size
        return records
