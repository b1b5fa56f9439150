# SPDX-License-Identifier: Apache-2.0
"""What is on a stepped bus: made, listed, described, looked after and removed, without files."""

from __future__ import annotations

from typing import Any

from slipring._bus.calls import cleanup as leftovers
from slipring._bus.cells import store as cells_store
from slipring._bus.doctor import note
from slipring._bus.topics import Topics
from slipring.errors import Closed, TopicExists

from .cursors import check_name as check_cursor
from .geometry import Geometry
from .tables import tables
from .topic import Topic
from .world import World


class Inventory(Topics):
    """Mixed into `SteppedBus`: the part of Bus that looks at a directory."""

    _world: World

    def _make(self, topic: str, given: dict[str, int], exist_ok: bool) -> None:
        world, found = self._world, self._world.topics.get(topic)
        world.check_kind(topic, "topic")
        if found is None and given.get("must_exist"):
            world.topic(topic)
        if found is None:
            geometry = Geometry.choose(given)
            world.topics[topic] = Topic(topic, geometry, world.generation(), world.clock.time_ns())
            world.note(f"create {topic}")
            world.changed()
        elif not exist_ok:
            text = f"topic '{topic}' exists: use exist_ok=True or another name"
            raise TopicExists(text, argument="topic")
        else:
            found.geometry.match(given, topic)

    def _remove(self, topic: str) -> None:
        world = self._world
        found = world.cells.pop(topic, None) or world.topic(topic)
        found.gone = True
        world.topics.pop(topic, None)
        world.note(f"remove {topic}")
        world.changed()

    def _names(self) -> list[str]:
        return list(self._world.topics)

    def _identities(self, stamp: object) -> tuple[object, dict[str, int] | None]:
        return None, {name: topic.generation for name, topic in self._world.topics.items()}

    def _identity(self, topic: str) -> int | None:
        found = self._world.topics.get(topic)
        return None if found is None else found.generation

    def contents(self) -> dict[str, str]:
        """Everything on the bus by name: "topic" or "cells"."""
        if self._closed:
            raise Closed("this bus is closed")
        kinds = dict.fromkeys(self._world.topics, "topic") | dict.fromkeys(self._world.cells, "cells")
        return dict(sorted(kinds.items()))

    def stats(self, topic: str) -> dict[str, Any]:
        """Counters and tables of a topic, or of cells, in the words of a real bus."""
        in_cells = self._world.cells.get(self._topic(topic))
        if in_cells is not None:
            return cells_store.with_kind(topic, in_cells.stats())
        found = self._world.topic(topic)
        frames = {"streams": found.pool.facts() if found.pool else []} if found.is_frames else {}
        return {"topic": topic, **self._tables(topic), **frames}

    def _tables(self, topic: str) -> dict[str, Any]:
        return tables(self._world.topic(topic), self.clock.time_ns())

    def _drop_cursor(self, topic: str, name: str) -> None:
        check_cursor(name)
        self._world.topic(topic).cursors.drop(name)

    def doctor(self, repair: bool = False) -> list[dict[str, str]]:
        """What killed handles left in the tables; with repair, cleared."""
        if self._closed:
            raise Closed("this bus is closed")
        findings = []
        for thing in self._world.things():
            if leftovers.is_leftover(self._tables, thing.name):
                action = "removed" if repair else "removed by the next client or server, or with repair"
                problem = "the reply topic of a dead client"
                findings.append(note(thing.name, problem, action))
                if repair:
                    self._remove(thing.name)
                continue
            dead = thing.dead()
            if dead:
                action = "cleared" if repair else "cleared by the next attach, or with repair"
                problem = f"{dead} table {'entry' if dead == 1 else 'entries'} of dead processes"
                findings.append(note(thing.name, problem, action))
            if repair:
                thing.sweep(self._world.clock.time_ns())
        return findings
