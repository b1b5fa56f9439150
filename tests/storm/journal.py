# SPDX-License-Identifier: Apache-2.0
"""Journals of processes: records of 48 bytes, one write(2) a step. storm/c/storm.h has the same format.

A written record survives SIGKILL, so a killed process loses at most the record of its last call, which the audit allows
for. A torn last record is ignored.

    BEGAN       -                                   the process runs
    STARTED     position, received, lost, filtered  a subscriber is attached
    SENT        seq, identity, count, step          a send returned: the last of `count` messages, whose counters are
                                                    `step` apart (0 is 1)
    ABORTED     -, identity                         a loan was aborted
    REFUSED     -, identity, count, step            the call raised Full or PeerGone: any of these may have been sent
    RECEIVED    seq, identity, sent_ns, size        a message was read and is as its sender made it
    CORRUPT     seq, identity, reason               a message differs: TORN, or CHANGED while it was held
    COUNTED     position, received, lost, filtered  the subscriber's counters, behind the messages that they count
    HANDLED     seq, identity                       a command or a call was carried out
    COMMITTING  position                            about to commit the cursor there
    COMMITTED   position                            the commit returned
    QUIET       -                                   a member sends no more
    ENDED       -                                   a subscriber read to the end of its topic
"""

import os
import struct
import time
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy

_RECORD = struct.Struct("<BB6xQQQQQ")
RECORD = numpy.dtype(
    [("kind", "u1"), ("topic", "u1"), ("pad", "V6"), ("time_ns", "<u8")] + [(name, "<u8") for name in "abcd"]
)
TORN, CHANGED = 1, 2
UNKNOWN = 2**64 - 1  # a sequence that the reader does not know


class Kind(IntEnum):
    BEGAN = 1
    STARTED = 2
    SENT = 3
    ABORTED = 4
    REFUSED = 5
    RECEIVED = 6
    CORRUPT = 7
    COUNTED = 8
    HANDLED = 9
    COMMITTING = 10
    COMMITTED = 11
    QUIET = 12
    ENDED = 13


class Record(NamedTuple):
    kind: int
    topic: int  # its number
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


def parse(data: bytes) -> Any:
    return numpy.frombuffer(data[: len(data) // RECORD.itemsize * RECORD.itemsize], dtype=RECORD)


def load(path: Path, most: int = -1) -> Any:
    """Return all records, or the first `most`, as an array."""
    if not path.exists():
        return parse(b"")
    with path.open("rb") as file:
        return parse(file.read(most * RECORD.itemsize if most >= 0 else -1))


def count(path: Path, kind: Kind, most: int = -1) -> int:
    """Return the number of records of a kind so far."""
    return int((load(path, most)["kind"] == kind).sum())


class Tail:
    """Follow a journal while it is written."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def more(self) -> Any:
        if not self._path.exists():
            return parse(b"")
        with self._path.open("rb") as file:
            file.seek(self._offset)
            records = parse(file.read())
        self._offset += records.nbytes
        return records
