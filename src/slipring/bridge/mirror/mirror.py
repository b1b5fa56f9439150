# SPDX-License-Identifier: Apache-2.0
"""Mirror: copies topics of one bus to another, each message once, with its sender, type and time stamp."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Self

from slipring._bus.bus import Bus
from slipring._bus.closing import Closing
from slipring._bus.logs import logger
from slipring._bus.native import _native
from slipring._bus.settings import start_place
from slipring.errors import BadArgument, SlipringError

from .mirrored_topic import REFUSED, MirroredTopic, MirrorSettings

log = logger("bridge")

_LOOK_EVERY_S = 1.0
_MOST_TOPICS = 256


class Rule(NamedTuple):
    """The topics of a mirror, and their names at the target: * stands for the name at the source."""

    pattern: str
    name: str = "*"

    @classmethod
    def parse(cls, text: str) -> Rule:
        """ "imu", "cam*", "imu:robot1.imu", "cam*:robot1.*" """
        pattern, _, name = text.partition(":")
        rule = cls(pattern, name or "*")
        if not pattern or (_is_glob(pattern) and "*" not in rule.name):
            text = f"topics: {text!r} must be NAME, GLOB, NAME:NEWNAME or GLOB:NEW* with a * for the name"
            raise BadArgument(text, argument="topics")
        return rule

    def target_of(self, topic: str) -> str | None:
        matches = fnmatchcase(topic, self.pattern) if _is_glob(self.pattern) else topic == self.pattern
        return self.name.replace("*", topic) if matches else None


def _is_glob(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


class Mirror(Closing):
    """Copies chosen topics from source to target, either of which may be on another host.

    >>> here, base = slipring.Bus("robot"), slipring.Bus("zmq+tcp://base:5555/base")
    >>> slipring.bridge.Mirror(here, base, ["imu"]).start()
    """

    def __init__(
        self,
        source: Bus,
        target: Bus,
        topics: Iterable[str],
        *,
        name: str = "mirror",
        start: str | int = "oldest",
        lossy: bool = False,
        source_state: str | None = None,
        target_state: str | None = None,
    ) -> None:
        if isinstance(topics, str):
            raise TypeError("topics must be a collection of str, not str")
        self.source, self.target = source, target
        self.rules = [Rule.parse(topic) for topic in topics]
        if not self.rules:
            raise BadArgument("topics is empty: give at least one topic or pattern", argument="topics")
        start_place(start)
        _native.check_name("name", name)
        self.name, self.lossy = name, lossy
        self._settings = MirrorSettings(source, target, name, start, lossy, source_state, target_state)
        self.mirrored: dict[str, MirroredTopic] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="slipring-mirror", daemon=True)

    def start(self) -> Self:
        """Mirror in threads of its own. Raise errors that cannot go away, such as a cycle or wrong settings, and every
        error of a topic given by its name."""
        try:
            for rule in self.rules:
                if not _is_glob(rule.pattern):
                    self._add(rule.pattern, raising=True, named=True)
            self._discover(raising=True)
        except BaseException:
            self.close()
            raise
        self._thread.start()
        return self

    def _discover(self, raising: bool = False) -> None:
        for topic in self.source.topics():
            self._add(topic, raising)

    def _add(self, topic: str, raising: bool, named: bool = False) -> None:
        targets = (rule.target_of(topic) for rule in self.rules)
        target = next((name for name in targets if name is not None), None)
        if target is None or topic in self.mirrored or len(self.mirrored) >= _MOST_TOPICS:
            return
        mirrored_topic = MirroredTopic(self._settings, topic, target)
        try:
            mirrored_topic.start(named)
        except REFUSED as error:
            if raising:
                raise
            mirrored_topic.state, mirrored_topic.problem = "refused", str(error)
            log.error("mirroring topic %r is refused: %s", topic, error)
        self.mirrored[topic] = mirrored_topic

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_EVERY_S):
            try:
                self._discover()
            except (SlipringError, OSError) as error:
                log.info("the topics of the source of mirror %r cannot be listed: %s", self.name, error)

    def status(self) -> list[dict[str, Any]]:
        """Return a dict per topic: sequences at both ends, mirrored and lost in all, lag, state, problem."""
        return [mirrored_topic.status() for _, mirrored_topic in sorted(self.mirrored.items())]

    def close(self) -> None:
        """Stop. The next start continues where this one ended."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        for mirrored_topic in self.mirrored.values():
            mirrored_topic.close()


Mirror.__module__ = "slipring.bridge"
