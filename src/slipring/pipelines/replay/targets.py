# SPDX-License-Identifier: Apache-2.0
"""The topics of the bus that a replay publishes to: created as they were recorded, or used as they are.

Delivery, writers and schema of an existing topic must agree with the recording, because they change what publishers and
readers observe. Capacity and slots may differ if the largest message fits: they only decide how much a ring keeps.
Bodies are published as they were recorded, also bodies that do not fit their schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from slipring._bus.bus import Bus
from slipring._bus.publisher import Publisher
from slipring._bus.schema.compatibility import check_same
from slipring.errors import BadArgument, Busy, SchemaMismatch, TooLarge, TopicExists

from ..lake import Lake
from ..lake.model import Json
from ..lake.topics import selection
from ..lake.topics.topic_settings import load

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

    from .order import Extent

Schemas = Callable[[str], Mapping[str, "Schema"]]  # of a topic: the schema of each typed generation
_MUST_AGREE = ("delivery", "writers")
_OF_A_NEW_TOPIC = (*_MUST_AGREE, "capacity", "slots", "mode", "max_readers", "max_writers", "max_cursors")


def recorded_settings(lake: Lake) -> dict[str, Json]:
    """Return the settings of each recorded topic, of its newest generation."""
    found = {}
    for topic in sorted({file.topic for file in lake.state.files.values()}):
        generations = load(lake, topic)["generations"].values()
        if generations:
            found[topic] = max(generations, key=lambda settings: settings.get("created_ns", 0))
    return found


class Targets:
    """Publishers by recorded topic, closed at the end of the ``with`` block."""

    def __init__(
        self,
        bus: Bus,
        settings: Mapping[str, Mapping[str, Any]],
        schemas: Schemas | None,
        named: Iterable[str] | None,
        notes: list[str],
    ) -> None:
        self.publishers: dict[str, Publisher] = {}
        self._bus, self._settings, self._notes = bus, settings, notes
        self._schemas = schemas or (lambda _: {})
        self._named = set(named or ())

    def replayable(self, topics: Iterable[str]) -> list[str]:
        """Return the topics that can be replayed. Others are noted; BadArgument if one of them is named."""
        found = []
        for topic in topics:
            if self._settings.get(topic, {}).get("content", "messages") == "messages":
                found.append(topic)
                continue
            why = f"{topic!r} carries frames, whose pixels are not in a recording"
            if topic in self._named:
                raise BadArgument(f"topics: {why}: omit it", argument="topics")
            self._notes.append(f"{why}: omitted")
        return found

    def open(self, names: Mapping[str, str], extent: Extent) -> None:
        """Create missing topics, all of them before the first message, so that readers can subscribe in time.

        SchemaMismatch if a topic was recorded with several schemas, or exists with another one."""
        schemas = {topic: self._schema(topic, extent) for topic in names}
        for topic, name in names.items():
            recorded = self._settings.get(topic, {})
            self._make(topic, name, recorded, schemas[topic], extent.largest[topic])
            try:
                self.publishers[topic] = self._bus.publisher(name)
            except Busy as error:
                raise Busy(f"{error}: stop it, give topic {topic!r} another name, or exclude it") from error

    def _schema(self, topic: str, extent: Extent) -> Schema | None:
        """Return the schema with which the messages of a topic were recorded; None: it is untyped."""
        known = {selection.key_of(topic, each)[1]: schema for each, schema in self._schemas(topic).items()}
        found = [known.get(generation) for generation in extent.generations[topic]]
        for other in found[1:]:
            error = _difference(found[0], other)
            if error is not None:
                what = f"topic {topic!r} was recorded with several schemas, and a topic has one"
                remedy = "replay its generations one by one, with start and end"
                raise selection.different(error, what, "one generation", "another", remedy)
        return found[0] if found else None

    def _make(
        self, topic: str, name: str, recorded: Mapping[str, Any], schema: Schema | None, largest: int
    ) -> None:
        def of(settings: Iterable[str]) -> dict[str, Any]:
            return {setting: recorded[setting] for setting in settings if setting in recorded}

        try:
            self._bus.create(name, **of(_OF_A_NEW_TOPIC), schema=schema, exist_ok=False)
            return
        except TopicExists:
            pass  # use it as it is, if it agrees
        # defect replay_ignores_schema: other = None
        other = _difference(self._bus.schema(name), schema)
        if other is not None:
            what = f"topic {name!r} exists with another schema than {topic!r} was recorded with"
            remedy = "remove it, or replay onto another name"
            raise selection.different(other, what, "the topic", "the recording", remedy)
        try:
            self._bus.create(name, **of(_MUST_AGREE))
        except TopicExists as error:
            raise TopicExists(
                f"topic {name!r} exists with {error.argument} {error.found}, and {topic!r} was recorded with "
                f"{error.asked}: remove it, or replay onto another name",
                argument=error.argument,
                found=error.found,
                asked=error.asked,
            ) from None
        self._check_room(topic, name, largest)

    def _check_room(self, topic: str, name: str, largest: int) -> None:
        stats = self._bus.stats(name)
        if largest > stats["capacity"]:
            raise TooLarge(
                f"topic {name!r} exists with capacity {stats['capacity']}, and the largest message of {topic!r} "
                f"needs {largest}: remove the topic, or replay onto another name",
                argument="capacity",
            )
        there = stats["published"]
        if there:
            self._notes.append(f"{name!r} already had {there:,} messages: the replay follows them")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for publisher in self.publishers.values():
            publisher.close()


def _difference(found: Schema | None, asked: Schema | None) -> SchemaMismatch | None:
    """Return why messages of one schema do not belong to a topic of the other; None if they do."""
    if found is not None and asked is not None:
        try:
            check_same(found, asked)
        except SchemaMismatch as error:
            return error
    elif found is not asked:
        one, other = (
            "untyped" if each is None else f"schema {each.name} ({each.encoding})" for each in (found, asked)
        )
        return SchemaMismatch(found=one, asked=other)
    return None
