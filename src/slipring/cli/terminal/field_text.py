# SPDX-License-Identifier: Apache-2.0
"""Plain values of typed topics as text for people: `t=0.01 acc=[0.1, 0.2, 9.8] ok=true`.

Texts are quoted and escaped as in JSON, so that no value can act on a terminal or imitate another field. Text is made
piece by piece and ends at a limit, so that a large array costs no more than what is shown of it.
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Iterator
from typing import Any

from slipring._bus.schema import field_types as kinds
from slipring._bus.schema.json_values import iso
from slipring._bus.schema.plain_values import EPOCH
from slipring.cli.terminal.output import json_text
from slipring.units import printable

_SMALL_FLOATS = {16: ("e", 5), 32: ("f", 9)}  # format and the digits that are always enough


def shown(kind: kinds.Type, value: Any, most: int | None = None) -> str:
    """Return the text of a value, of at most so many characters."""
    pieces: list[str] = []
    length = 0
    for piece in _pieces(kind, value, most):
        pieces.append(piece)
        length += len(piece)
        if most is not None and length > most:
            return "".join(pieces)[: most - 1] + "…"
    return "".join(pieces)


def bare(kind: kinds.Type, value: Any, most: int | None = None) -> str:
    """Return the text of a value in a column of its own: texts have no quotes."""
    if not isinstance(value, str):
        return shown(kind, value, most)
    text = printable(value if most is None else value[: most + 1])
    return text if most is None or len(text) <= most else text[: most - 1] + "…"


def word(text: str) -> str:
    """Return a name, in quotes if it is not one word."""
    return text if text.isprintable() and not set(text) & set(" \"'=()") else json_text(text)


def _pieces(kind: kinds.Type, value: Any, most: int | None) -> Iterator[str]:
    match kind:
        case _ if value is None:
            yield "null"
        case kinds.Nullable(item=item):
            yield from _pieces(item, value, most)
        case kinds.Struct(fields=fields):
            named = ((f"{each.name}: ", each.type, value[each.name]) for each in fields)
            yield from _several("{}", named, most)
        case kinds.List(item=item) | kinds.Array(row=item):
            yield from _several("[]", (("", item, each) for each in value), most)
        case kinds.Map(item=item):
            yield from _several("{}", ((f"{json_text(key)}: ", item, value[key]) for key in value), most)
        case _:
            yield _leaf(kind, value, most)


def _several(brackets: str, parts: Iterator[tuple[str, kinds.Type, Any]], most: int | None) -> Iterator[str]:
    yield brackets[0]
    for at, (name, kind, value) in enumerate(parts):
        yield f", {name}" if at else name
        yield from _pieces(kind, value, most)
    yield brackets[1]


def _leaf(kind: kinds.Type, value: Any, most: int | None) -> str:
    match kind, value:
        case _, bool():
            return "true" if value else "false"
        case _, str():
            return json_text(value if most is None else value[: most + 1])
        case _, bytes():
            return f"0x{value[:most].hex()}"
        case kinds.Float(bits=bits), _:
            return _float(bits, value)
        case kinds.Timestamp(unit="ns"), _:
            seconds, part = divmod(value, 1_000_000_000)
            moment = EPOCH + datetime.timedelta(seconds=seconds)
            return f"{moment.isoformat().removesuffix('+00:00')}{f'.{part:09}' if part else ''}Z"
        case kinds.Duration(unit="ns"), _:
            return f"{value}ns"
        case _, datetime.datetime() | datetime.timedelta():
            return iso(value)
        case _, datetime.date():
            return value.isoformat()
    return str(value)


def _float(bits: int, value: float) -> str:
    """Return the shortest text that gives the same number of this size."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if bits not in _SMALL_FLOATS:
        return repr(value)
    form, digits = _SMALL_FLOATS[bits]
    same = struct.pack(form, value)
    for count in range(1, digits):
        short = float(f"{value:.{count}g}")
        try:
            if struct.pack(form, short) == same:
                return repr(short)
        except OverflowError:  # rounded up beyond the largest number
            continue
    return repr(value)
