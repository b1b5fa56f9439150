# SPDX-License-Identifier: Apache-2.0
"""Fields that a user names: `t`, `acc[0]`, `pose.x`, `limits.low` for a key of a map, `path[-1]` for the last item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from slipring._bus.schema import field_types as kinds
from slipring.cli.terminal.known_names import close

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

_STEP = r"[\w-]+(?:\[-?\d{1,9}\])*"
_PATH = re.compile(rf"{_STEP}(?:\.{_STEP})*")
_PART = re.compile(r"\[(-?\d+)\]|([\w-]+)")
_MOST_NAMED = 20


class NoField(click.ClickException):
    """The schema of a topic does not have the field."""


class FieldPath(NamedTuple):
    text: str
    steps: tuple[str | int, ...]

    def of(self, value: Any) -> Any:
        """Return the value at this path of a dict; None where an optional value, an item or a key is absent."""
        for step in self.steps:
            if value is None:
                return None
            try:
                value = value[step]
            except (KeyError, IndexError):
                return None
        return value


def parse(text: str) -> FieldPath:
    if not _PATH.fullmatch(text):
        raise click.UsageError(f"--fields: {text!r} is not a field: write it as t, acc[0] or pose.x")
    steps = (int(index) if index else name for index, name in _PART.findall(text))
    return FieldPath(text, tuple(steps))


def type_at(path: FieldPath, schema: Schema, topic: str) -> kinds.Type:
    """Return the type of a field; NoField names the fields that there are."""
    kind: kinds.Type = kinds.Struct(tuple(kinds.Field(*each) for each in schema.fields))
    at = ""
    for step in path.steps:
        inner = _within(kind, step)
        if inner is None:
            why = _alternatives(kind, step, at)
            raise NoField(f"no field {path.text!r} in topic {topic!r}: {why}")
        kind = inner
        at = f"{at}[{step}]" if isinstance(step, int) else kinds.within(at, step)
    return kind


def _within(kind: kinds.Type, step: str | int) -> kinds.Type | None:
    match kind:
        case kinds.Nullable(item=item):
            return _within(item, step)
        case kinds.Struct(fields=fields):
            return next((each.type for each in fields if each.name == step), None)
        case kinds.Map(item=item) if isinstance(step, str):
            return item
        case kinds.List(item=item) if isinstance(step, int):
            return item
        case kinds.Array(shape=shape, row=row) if isinstance(step, int) and -shape[0] <= step < shape[0]:
            return row
    return None


def _alternatives(kind: kinds.Type, step: str | int, at: str) -> str:
    bare = kind.item if isinstance(kind, kinds.Nullable) else kind
    if isinstance(bare, kinds.Struct):
        names = [each.name for each in bare.fields]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        named = f"{', '.join(names[:_MOST_NAMED])}{more}"
        meant = close(step, names) if isinstance(step, str) else None
        hint = f": did you mean {kinds.within(at, meant)!r}?" if meant else ""
        return f"{f'the fields of {at}' if at else 'its fields'} are {named}{hint}"
    hint = f", use {at}[0]" if isinstance(bare, (kinds.List, kinds.Array)) and isinstance(step, str) else ""
    return f"{at} is {kind}{hint}"
