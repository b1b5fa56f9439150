# SPDX-License-Identifier: Apache-2.0
"""The target of a mirrored topic: a topic of this host, or of a remote bus.

Both accept records with increasing numbers, skip those that were published before, and know the last one.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from slipring._bus.bus import Bus
from slipring.errors import Full

from .. import origin_files, wire
from ..client.bus import RemoteBus
from ..origin_files import Progress

_LOOK_EVERY_S = 0.002


class TargetTopic(Protocol):
    @property
    def progress(self) -> Progress: ...
    def tell_upstream(self, upstream: set[str]) -> None: ...
    def send(self, records: list[wire.Record], timeout_s: float) -> None:
        """Publish. Raise Full when there is no room for all of them: send them again."""

    def close(self) -> None: ...


class LocalTarget:
    def __init__(
        self, bus: Bus, topic: str, origin: str, name: str, state: str | None, settings: Any
    ) -> None:
        directory = origin_files.directory_of(bus, state)
        self._origin = origin_files.Origin(bus, topic, origin, directory=directory, sender=name, **settings)

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
    def __init__(self, bus: RemoteBus, topic: str, origin: str, name: str, settings: Any) -> None:
        self._bus, self._topic, self._told = bus, topic, [""]
        self._publisher = bus._origin_publisher(topic, name, settings, origin)

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
    bus: Bus, topic: str, origin: str, name: str, state: str | None, settings: Any
) -> TargetTopic:
    """Return a target on the bus; a missing topic is created with the settings."""
    given = {} if topic in bus.topics() else settings
    if isinstance(bus, RemoteBus):
        return RemoteTarget(bus, topic, origin, name, given)
    return LocalTarget(bus, topic, origin, name, state, given)
