# SPDX-License-Identifier: Apache-2.0
"""What is on a bus: topics made, listed, described, looked after and removed. `Bus` adds the handles."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from slipring.errors import BadArgument, Closed, SlipringError, TopicNotFound

from . import directory, kinds, settings
from .clock import Clock
from .closing import Closing
from .facts import Facts
from .frames import streams as frame_streams
from .logs import log
from .native import _native

_TICK_NS = 50_000_000  # more than file systems' clocks need for their next step


class Topics(Closing):
    """A directory of topics under a name."""

    clock: Clock = time  # of time-outs and time stamps; the stepped bus (slipring.testing) has a virtual one

    def __init__(self, name: str = "default", *, root: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        self._check_text("name", name)
        self.name = name
        chosen = directory.default_root() if root is None else os.fspath(root)
        if not isinstance(chosen, str):
            raise TypeError(f"root must be str or a path, not {type(chosen).__name__}")
        if not chosen or "\0" in chosen:
            raise BadArgument(f"root={chosen!r} is not a directory's name", argument="root")
        self.root = os.path.abspath(chosen)
        self.path = os.path.join(self.root, name)
        self._closed = False
        directory.check(self.root, self.path, root is None and "SLIPRING_ROOT" not in os.environ)

    @staticmethod
    def _check_text(argument: str, name: str) -> None:
        if "\0" in name:
            raise BadArgument(f"{argument} must not contain a NUL character", argument=argument)
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise BadArgument(f"{argument} is not valid text: {error.reason}", argument=argument) from None
        _native.check_name(argument, name)

    def _topic(self, topic: str) -> str:
        if self._closed:
            raise Closed("this bus is closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        self._check_text("topic", topic)
        return topic

    @settings.names_its_parameters
    def create(
        self,
        topic: str,
        capacity: int | str | None = None,
        slots: int | None = None,
        delivery: str | None = None,
        writers: str | None = None,
        mode: int | None = None,
        exist_ok: bool = True,
        *,
        max_readers: int | None = None,
        max_writers: int | None = None,
        max_cursors: int | None = None,
    ) -> None:
        """Create a topic. Defaults: "16MiB", lossy, many writers, 0o600. What is given must match a topic
        that exists already; what is not given takes what is there."""
        given = {
            "capacity": capacity,
            "slots": slots,
            "delivery": delivery,
            "writers": writers,
            "mode": mode,
            "max_readers": max_readers,
            "max_writers": max_writers,
            "max_cursors": max_cursors,
        }
        self._create(self._topic(topic), given, exist_ok)

    def _create(self, topic: str, given: dict[str, Any], exist_ok: bool) -> None:
        self._make(topic, settings.topic_settings(**given), exist_ok)

    def _make(self, topic: str, given: dict[str, int], exist_ok: bool) -> None:
        directory.make(self.root, self.path)
        _native.topic_create(self.path, topic, given, exist_ok)

    def remove(self, topic: str, missing_ok: bool = False) -> None:
        """Remove a topic, or cells; whoever uses it gets TopicGone."""
        try:
            self._remove(self._topic(topic))
        except TopicNotFound:
            if not missing_ok:
                raise

    def _remove(self, topic: str) -> None:
        kinds.kind_of(self.path, topic).remove(self.path, topic)

    def _clear_half(self, topic: str) -> None:
        """A creator or remover that died half-way leaves a reader table without a ring: clear it away."""
        if os.path.lexists(os.path.join(self.path, f"{topic}.readers")):
            with contextlib.suppress(SlipringError):  # not ours to write, or somebody is making it just now
                if kinds.TOPIC.mend(self.path, topic, True):
                    log("bus", "info", "half of topic '%s', left by a killed process, was removed", topic)

    def topics(self) -> list[str]:
        """The names of the topics that exist, sorted."""
        if self._closed:
            raise Closed("this bus is closed")
        return sorted(self._names())

    def contents(self) -> dict[str, str]:
        """Everything on the bus by name: "topic" or "cells"."""
        if self._closed:
            raise Closed("this bus is closed")
        return {name: kind.noun for name, kind in kinds.contents(self._files()).items()}

    def _names(self) -> list[str]:
        return [name for name, kind in kinds.contents(self._files()).items() if kind is kinds.TOPIC]

    def stats(self, topic: str) -> dict[str, Any]:
        """Counters and tables of a topic, or of cells, as they stand in shared memory."""
        kind = kinds.kind_of(self.path, self._topic(topic))
        if kind is not kinds.TOPIC:
            return Facts(kind.stats(self.path, topic))
        stats = self._tables(topic)
        now = self.clock.time_ns()
        for cursor in stats["cursors"]:
            cursor["age_s"] = max(0.0, (now - cursor.pop("touched_ns")) / 1e9)
            expires_ns = cursor.pop("expires_ns")
            cursor["expires_s"] = expires_ns / 1e9 if expires_ns else None
        if stats.get("content") == "frames":
            stats["streams"] = frame_streams.look(self.path, topic)
        return Facts({"topic": topic, **stats})

    def _tables(self, topic: str) -> dict[str, Any]:
        return _native.topic_stats(self.path, topic)

    def cursors(self, topic: str) -> list[dict[str, Any]]:
        """The topic's cursors: name, position, lag, age_s, expires_s, attached."""
        cursors: list[dict[str, Any]] = self.stats(topic)["cursors"]
        return cursors

    def drop_cursor(self, topic: str, name: str) -> None:
        """End a cursor: what it kept may be reclaimed."""
        self._check_text("cursor", name)
        self._drop_cursor(self._topic(topic), name)

    def _drop_cursor(self, topic: str, name: str) -> None:
        _native.cursor_drop(self.path, topic, name)

    def doctor(self, repair: bool = False) -> list[dict[str, str]]:
        """What the dead left behind, and damaged topics; with repair, cleared."""
        if self._closed:
            raise Closed("this bus is closed")
        from . import doctor  # it knows all that can be left behind, and few ask

        return doctor.examine(self.path, self._files(), repair)

    # For whoever follows what comes and goes

    _look_every_s = 0.02  # how often to look, when there is nothing to receive

    def _identities(self, stamp: object) -> tuple[object, dict[str, int] | None]:
        """Each topic with a number that no other topic of its name has while it is in use, and a stamp for the next
        time; None when nothing has changed since `stamp`."""
        try:
            changed_ns = os.stat(self.path).st_mtime_ns
        except FileNotFoundError:
            return None, {}
        except OSError as error:
            raise directory.fault(error, self.path) from error
        if stamp == changed_ns:
            return stamp, None
        found = {name: number for name in self._names() if (number := self._identity(name)) is not None}
        settled = time.time_ns() - changed_ns > _TICK_NS  # else a later change may have the same time
        return (changed_ns if settled else None), found

    def _identity(self, topic: str) -> int | None:
        """None when there is no such topic."""
        try:
            return os.stat(os.path.join(self.path, f"{topic}.ring")).st_ino
        except OSError:
            return None

    def _files(self) -> list[str]:
        return directory.listed(self.path)  # nothing: nobody has made a topic yet
