# SPDX-License-Identifier: Apache-2.0
"""Read the tables of docs/spec/memory-layout.md as data. This module contains no number of the layout.

layout.structures   {"slot": [Field("word", 0, 8, "u64"), …], …} in the document's order
layout.constants    {"page": 4096, …}
layout.words        {"slot.word": {"state": Bits(0, 2), …}, …}
layout.places       {"slots_offset": "round_up(…)", …}: formulas of both files, in the document's order
layout.message      {"reserved": "max(…)", …}: formulas of one message
evaluate(formula, known)   the value of a formula
"""

import re
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/spec/memory-layout.md"
HEADING = re.compile(r"^#+ .*?`([\w.]+)`")


class Field(NamedTuple):
    name: str
    offset: int
    size: int
    type: str


class Bits(NamedTuple):
    lowest: int
    width: int

    def of(self, word: int) -> int:
        return word >> self.lowest & ((1 << self.width) - 1)


class Layout(NamedTuple):
    structures: dict[str, list[Field]]
    constants: dict[str, int]
    words: dict[str, dict[str, Bits]]
    places: dict[str, str]
    message: dict[str, str]


def round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def evaluate(formula: str, known: dict[str, int]) -> int:
    return eval(formula, {"__builtins__": {}, "round_up": round_up, "max": max}, known)


def cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def tables(text: str):
    """Yield each table as (name in code in the heading above it, column titles, rows)."""
    name, rows = "", []
    for line in [*text.splitlines(), ""]:
        if match := HEADING.match(line):
            name = match[1]
        if line.startswith("|"):
            rows.append(cells(line))
        elif rows:
            yield name, rows[0], rows[2:]
            rows = []


def read(path: Path = DOCUMENT) -> Layout:
    layout = Layout({}, {}, {}, {}, {})
    for name, titles, rows in tables(path.read_text()):
        if titles[:4] == ["field", "offset", "size", "type"]:
            layout.structures[name] = [Field(row[0], int(row[1]), int(row[2]), row[3]) for row in rows]
        elif titles[:2] == ["constant", "value"]:
            layout.constants.update({row[0]: int(row[1], 0) for row in rows})
        elif titles[:3] == ["part", "lowest bit", "bits"]:
            layout.words[name] = {row[0]: Bits(int(row[1]), int(row[2])) for row in rows}
        elif titles[:2] == ["place", "formula"]:
            layout.places.update({row[0]: row[1] for row in rows})
        elif titles[:2] == ["of a message", "formula"]:
            layout.message.update({row[0]: row[1] for row in rows})
    return layout
