# SPDX-License-Identifier: Apache-2.0
"""The target of a mirrored topic: a topic of this host, or of a remote bus.

Both accept records with increasing numbers, skip those that were published before, and know the last one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from slipring._bus.bus import Bus
from slipring._bus.typed.stored import schema_of
from slipring.errors import Full, SchemaMismatch

from .. import origin_files, wire
from ..client.bus import RemoteBus
from ..origin_files import Progress

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema

_LOOK_EVERY_S = 0.002


class TargetTopic(Protocol):
    @property
    def progress(self) -> Progress: ...
    @property
    def schema(self) -> bytes | None: ...
    def tell_upstream(self, upstream: set[str]) -> None: ...
    def send(self, records: list[wire.Record], timeout_s: float) -> None:
        """Publish. Raise Full when there is no room for all of them: send them again."""

    def close(self) -> None: ...


class LocalTarget:
    def __init__(
        self,
        bus: Bus,
        topic: str,
        origin: str,
        name: str,
        state: str | None,
        settings: Any,
        schema: Schema | None,
    ) -> None:
        directory = origin_files.directory_of(bus, state)
        self._origin = origin_files.Origin(
            bus, topic, origin, directory=directory, sender=name, schema=schema, **settings
        )

    @property
    def schema(self) -> bytes | None:
        return self._origin.publisher._schema

    @property
    def progress(self) -> Progress:
        return self._origin.progress

    def tell_upstream(self, upstream: set[str]) -> None:
        self._origin.tell_upstream(upstream)

    def send(self, records: list[wire.Record], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        for number, time_ns, lost, _, type, sender, body in records:
            while True:
                try:
                    self._origin.send(number, body, type, sender, time_ns, lost)
                    break
                except Full:
                    if time.monotonic() >= deadline:
                        raise
                    time.sleep(_LOOK_EVERY_S)

    def close(self) -> None:
        self._origin.close()


class RemoteTarget:
    def __init__(
        self, bus: RemoteBus, topic: str, origin: str, name: str, settings: Any, schema: Schema | None
    ) -> None:
        self._bus, self._topic, self._told = bus, topic, [""]
        self._publisher = bus._origin_publisher(topic, name, settings, origin, schema)

    @property
    def schema(self) -> bytes | None:
        return self._publisher._schema

    @property
    def progress(self) -> Progress:
        return Progress(**self._publisher.place)

    def tell_upstream(self, upstream: set[str]) -> None:
        if sorted(upstream) != self._told:
            self._told = sorted(upstream)
            self._publisher.set_upstream(self._told)

    def send(self, records: list[wire.Record], timeout_s: float) -> None:
        self._publisher.send_numbered(records, timeout_s)

    def close(self) -> None:
        self._publisher.close()


def open_target(
    bus: Bus, topic: str, origin: str, name: str, state: str | None, settings: Any, schema: Schema | None
) -> TargetTopic:
    """Return a target on the bus; a missing topic is created with the settings and the schema of the source.

    SchemaMismatch: the target has another schema, or has one while the source has none."""
    given = {} if topic in bus.topics() else settings
    target: TargetTopic
    if isinstance(bus, RemoteBus):
        target = RemoteTarget(bus, topic, origin, name, given, schema)
    else:
        target = LocalTarget(bus, topic, origin, name, state, given, schema)
    if schema is None and target.schema is not None:
        found = f"schema {schema_of(target.schema).name}"
        target.close()
        raise SchemaMismatch(
            f"topic {topic!r} of {bus.path} has {found}, and the source has no schema: mirror to another name",
            found=found,
            asked="no schema",
        )
    return target
