# SPDX-License-Identifier: Apache-2.0
"""What all lives wrote down, as arrays: hours of it fit into memory. The records are those of demo.journal."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from demo.journal import Kind

RECORD = numpy.dtype(
    [("kind", "u1"), ("topic", "u1"), ("pad", "V6"), ("time_ns", "<u8")] + [(name, "<u8") for name in "abcd"]
)


@dataclass
class Life:
    """One process: its journal, and how it ended."""

    seat: str
    topic: int
    incarnation: int
    code: int
    killed: bool
    records: Any  # array of RECORD

    def of(self, kind: Kind) -> Any:
        return self.records[self.records["kind"] == kind]

    def has(self, kind: Kind) -> bool:
        return bool((self.records["kind"] == kind).any())

    @property
    def reads(self) -> bool:
        return self.has(Kind.START)

    @property
    def start(self) -> int:
        return int(self.of(Kind.START)["a"][0])

    @property
    def done(self) -> bool:
        return self.has(Kind.DONE)

    @property
    def sent_identities(self) -> Any:
        """Of every message, those of a batch written out."""
        sent = self.of(Kind.SENT)
        last, count = sent["b"], sent["c"].astype(numpy.int64)
        back = numpy.repeat(numpy.cumsum(count), count) - numpy.arange(count.sum()) - 1
        return numpy.repeat(last, count) - back.astype(numpy.uint64)


def load(path: Path) -> Any:
    data = path.read_bytes() if path.exists() else b""
    return numpy.frombuffer(data[: len(data) // RECORD.itemsize * RECORD.itemsize], dtype=RECORD)


def lives(work: Path) -> list[Life]:
    found = []
    for line in (work / "lives.jsonl").read_text().splitlines():
        told = json.loads(line)
        records = load(work / "journals" / told.pop("journal"))
        found.append(Life(records=records, **told))
    return found
