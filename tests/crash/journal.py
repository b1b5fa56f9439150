# SPDX-License-Identifier: Apache-2.0
"""What a process did, one record a deed, appended by one write each: SIGKILL loses no record once written.

START   position                            where a reader began
SENT    counter, sequence, count            send, send_many or loan returned: the last of `count` counters
MAYBE   counter, -, count                   the call raised Full: any of them may have been sent
ABORT   -                                   a loan was aborted
GOT     sequence, incarnation, counter, lost    one message read; `lost` is the reader's count, or UNKNOWN
INTENT  position                            about to commit the cursor there
COMMIT  position                            the cursor's commit returned
QUIET   -                                   a member sends no more
END     received, lost, filtered, position  the reader's own account when it ended in good order
"""

import os
import struct
from pathlib import Path

RECORD = struct.Struct("<BxxxxxxxQQQQ")
START, SENT, MAYBE, ABORT, GOT, INTENT, COMMIT, QUIET, END = range(1, 10)
UNKNOWN = 2**64 - 1


class Journal:
    def __init__(self, path: str | Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, kind: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> None:
        os.write(self._fd, RECORD.pack(kind, a, b, c, d))

    def write_all(self, records: list[tuple]) -> None:
        os.write(self._fd, b"".join(RECORD.pack(*record) for record in records))

    def close(self) -> None:
        os.close(self._fd)


def read(path: str | Path) -> list[tuple]:
    data = Path(path).read_bytes()
    return list(RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]))
