# SPDX-License-Identifier: Apache-2.0
"""One schema for the rows that are read: all topics share it, and earlier generations can be read as the newest one.

Topics share a schema by the rule for publishers (docs/spec/schema.md section 6.1), generations by that for subscribers:
a generation may lack fields that have a default, have fields more, or narrower numbers. Fields inside structures do not
change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipring._bus.schema import field_types as kinds
from slipring._bus.schema.compatibility import check_same, view
from slipring.errors import SchemaMismatch

from . import schema_files, topic_settings

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

    from ..lake import Lake
    from ..model import File

Key = tuple[str, int]  # topic, and generation as the signed number in the column


def key_of(topic: str, generation: str) -> Key:
    """Return topic and generation as the rows have them."""
    number = int(generation, 16)
    return topic, number - (1 << 64) if number >> 63 else number


@dataclass(frozen=True)
class Selection:
    """What is read as `schema`, and the schema of each topic and generation in it."""

    schema: Schema
    each: dict[Key, Schema]


def schemas_of(lake: Lake, topic: str) -> dict[str, Schema]:
    """Return the schema of each typed generation of a recorded topic, the oldest first."""
    generations = topic_settings.load(lake, topic)["generations"]
    in_order = sorted(generations.items(), key=lambda one: one[1].get("created_ns", 0))
    return {
        generation: schema_files.load(lake.path, known["schema"])
        for generation, known in in_order
        if known.get("schema") is not None
    }


def select(lake: Lake, files: Iterable[File]) -> Selection | None:
    """Return the schemas of files; None if there are no files. SchemaMismatch names topics and the first field."""
    generations: dict[str, set[str]] = defaultdict(set)
    for file in files:
        generations[file.topic].update(run.generation for run in file.runs)
    each: dict[Key, Schema] = {}
    first: tuple[str, Schema] | None = None
    for topic, present in sorted(generations.items()):
        newest, found = _of_topic(lake, topic, present)
        each |= found
        if first is None:
            first = topic, newest
        else:
            _check_shared(first, (topic, newest))
    return None if first is None else Selection(first[1], each)


def _of_topic(lake: Lake, topic: str, present: set[str]) -> tuple[Schema, dict[Key, Schema]]:
    """Return the newest schema of a topic, and that of each generation."""
    known = schemas_of(lake, topic)
    for generation in sorted(present - set(known)):
        raise SchemaMismatch(
            f"topic {topic!r} was recorded without a schema (generation {generation}): read it without decode, or "
            "choose other topics",
            argument="topics",
            found="no schema",
        )
    in_order = {generation: schema for generation, schema in known.items() if generation in present}
    newest = list(in_order.values())[-1]
    for generation, schema in in_order.items():
        try:
            _check_readable(schema, newest)
        except SchemaMismatch as error:
            what = f"generation {generation} of topic {topic!r} cannot be read as the newest one"
            remedy = "choose another time with since_ns and until_ns"
            raise different(error, what, "that generation", "the newest", remedy) from None
    return newest, {key_of(topic, generation): schema for generation, schema in in_order.items()}


def _check_readable(found: Schema, own: Schema) -> None:
    """SchemaMismatch unless bodies of a schema can be read as another one."""
    if found == own:
        return
    view(found, own)
    theirs = dict(found.fields)
    for name, kind in own.fields:
        if name in theirs and theirs[name] != kind and _has_fields(kind):
            raise SchemaMismatch(
                f"field {name} has other fields inside", found=str(theirs[name]), asked=str(kind), field=name
            )


def _has_fields(kind: kinds.Type) -> bool:
    return isinstance(kind, kinds.Struct) or any(_has_fields(part) for part in kind.parts())


def _check_shared(one: tuple[str, Schema], other: tuple[str, Schema]) -> None:
    try:
        check_same(one[1], other[1])
    except SchemaMismatch as error:
        what = f"topics {one[0]!r} and {other[0]!r} have different schemas"
        raise different(error, what, repr(one[0]), repr(other[0]), "read them one by one") from None


def different(error: SchemaMismatch, what: str, one: str, other: str, remedy: str) -> SchemaMismatch:
    """Return the error for two schemas, which names the field and both of them."""
    field = f"field {error.field}" if error.field else "the message"
    return SchemaMismatch(
        f"{what}: {field} is {error.found} in {one} and {error.asked} in {other}; {remedy}",
        argument="topics",
        found=error.found,
        asked=error.asked,
        field=error.field,
    )
