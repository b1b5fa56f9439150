# SPDX-License-Identifier: Apache-2.0
"""One mirrored topic: a thread that reads at the source and publishes at the target.

The number of a message at its origin is its sequence at the source + 1: the next sequence to be read. The target notes
it with each message, so that it knows where to continue after a crash at any point. The source's cursor is committed
behind published messages only: on a reliable topic it has kept all messages from there on.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from slipring._bus.logs import logger
from slipring.errors import BadArgument, Busy, Full, SchemaMismatch, SlipringError, TopicNotFound

from .. import wire
from ..identity import without_host_name
from . import cycle_check
from .target import TargetTopic, open_target

if TYPE_CHECKING:
    from slipring._bus.bus import Bus
    from slipring._bus.subscriber import Message, Subscriber

log = logger("bridge")

_BATCH_MESSAGES, _BATCH_BYTES = 256, 256 << 10
_PATIENCE_S = 0.5
_CYCLE_CHECK_S = 2.0
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 2.0
_SAME = ("capacity", "slots", "delivery")
REFUSED: Final = (BadArgument, SchemaMismatch)  # errors that cannot go away


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """The settings that all topics of a mirror share. start: for topics without a position of an earlier run."""

    source: Bus
    target: Bus
    name: str
    start: str | int
    lossy: bool
    source_state: str | None
    target_state: str | None


def _fitting(text: str) -> str:
    """Return a type or sender shortened to what a ring takes: bytes that are not UTF-8 were replaced by longer ones."""
    encoded = text.encode()
    if len(encoded) <= wire.MOST_NAME_BYTES:
        return text
    return encoded[: wire.MOST_NAME_BYTES].decode(errors="ignore")


class MirroredTopic:
    def __init__(self, settings: MirrorSettings, topic: str, target_topic: str) -> None:
        self._settings, self.topic, self.target_topic = settings, topic, target_topic
        self._stopping = threading.Event()
        self._sub: Subscriber | None = None
        self._target: TargetTopic | None = None
        self._base_lost = 0
        self._lag = self._shortened = 0
        self.state, self.problem = "starting", ""
        self._next_check = 0.0
        self._thread = threading.Thread(target=self._run, name=f"slipring-mirror-{topic}", daemon=True)

    def start(self, named: bool) -> None:
        """Open both ends, so that errors that cannot go away are raised here; then continue in a thread.

        named: the topic was given by its name. A topic found by a pattern is tried again when it cannot be used now.
        """
        try:
            self._open()
        except REFUSED:
            self._close()
            raise
        except (SlipringError, OSError) as error:
            self._close()
            if named and not isinstance(error, (TopicNotFound, Busy)):
                raise
            self._wait_for_better(error)
        self._thread.start()

    def _wait_for_better(self, error: Exception) -> None:
        problem = f"{type(error).__name__}: {error}"
        if problem != self.problem:
            log.warning("mirroring topic %r waits: %s", self.topic, problem)
        self.state, self.problem = "waiting", problem

    def close(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._close()

    def status(self) -> dict[str, Any]:
        """Return sequences of the last message, counts since the mirror first ran, the present lag, and the number of
        messages since this start whose type or sender did not fit."""
        sub, target = self._sub, self._target
        progress = target.progress if target is not None else None
        lost = self._base_lost + sub.lost if sub is not None else self._base_lost
        return {
            "topic": self.topic,
            "target": self.target_topic,
            "state": self.state,
            "problem": self.problem,
            "source_seq": progress.number - 1 if progress and progress.number else None,
            "target_seq": progress.seq if progress and progress.number else None,
            "mirrored": progress.count if progress else 0,
            "lost": max(lost, progress.lost if progress else 0),
            "lag": self._lag,
            "shortened": self._shortened,
        }

    def _open(self) -> None:
        mirror = self._settings
        facts = mirror.source.stats(self.topic)
        upstream = cycle_check.upstream_of(mirror.source, self.topic, mirror.source_state)
        cycle_check.refuse_cycle(upstream, mirror.target, self.target_topic)
        source = without_host_name(cycle_check.node(mirror.source, self.topic))
        origin = f"mirror:{mirror.name}:{source}:{facts['generation']}"
        geometry = {name: facts[name] for name in _SAME}
        schema = mirror.source.schema(self.topic)
        self._target = open_target(
            mirror.target, self.target_topic, origin, mirror.name, mirror.target_state, geometry, schema
        )
        self._target.tell_upstream(upstream)
        self._next_check = time.monotonic() + _CYCLE_CHECK_S
        progress = self._target.progress
        start = progress.number or mirror.start
        cursor = None if mirror.lossy else f"mirror.{mirror.name}"
        self._sub = mirror.source.subscriber(self.topic, start, mirror.lossy or None, cursor)
        self._base_lost = progress.lost
        if progress.number:
            # The cursor is behind the published messages: its losses there are counted already.
            self._base_lost -= self._sub.lost
            self._sub.seek(progress.number)
            if cursor is not None:
                self._sub.commit()  # now: if the cursor keeps a whole ring, no message can come before it moves
        self.state, self.problem = "running", ""

    def _close(self) -> None:
        for end in (self._sub, self._target):
            if end is not None:
                end.close()
        self._base_lost = 0
        self._sub = self._target = None

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._stopping.is_set():
            try:
                if self._sub is None:
                    self._open()
                while not self._stopping.is_set():
                    self._carry()
                    pause_s = _FIRST_PAUSE_S
            except REFUSED as error:
                self.state, self.problem = "refused", str(error)
                log.error("mirroring topic %r ends: %s", self.topic, error)
                self._close()
                return
            except (SlipringError, OSError) as error:
                self._wait_for_better(error)
                self._close()
                self._stopping.wait(pause_s)
                pause_s = min(pause_s * 2, _LAST_PAUSE_S)

    def _carry(self) -> None:
        """Copy some messages from the source to the target."""
        sub, target = self._sub, self._target
        assert sub is not None and target is not None
        records = self._read(sub)
        if time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + _CYCLE_CHECK_S
            self._check_cycle(target)
        while records and not self._stopping.is_set():
            try:
                target.send(records, _PATIENCE_S)
            except Full:
                continue  # the target's readers are slow; the target skips messages that were published
            if not self._settings.lossy:
                sub.commit()
            break
        self._lag = sub.lag

    def _read(self, sub: Subscriber) -> list[wire.Record]:
        """Return a batch. Each record has the losses before it, so that a restart counts nothing twice."""
        records: list[wire.Record] = []
        size = 0
        message = sub.recv(_PATIENCE_S)
        while message is not None:
            lost = self._base_lost + sub.lost
            type, sender = self._names_of(message)
            records.append(wire.Record(message.seq + 1, message.time_ns, lost, 0, type, sender, message.body))
            size += len(message.body)
            if len(records) >= _BATCH_MESSAGES or size >= _BATCH_BYTES:
                break
            message = sub.recv(0)
        return records

    def _names_of(self, message: Message) -> tuple[str, str]:
        """Return type and sender; shortened, and counted, if they do not fit."""
        type, sender = _fitting(message.type), _fitting(message.sender)
        if (type, sender) != (message.type, message.sender):
            if not self._shortened:
                where = f"message {message.seq} of topic {self.topic!r}"
                log.warning("type or sender of %s is not UTF-8 and was shortened", where)
            self._shortened += 1
        return type, sender

    def _check_cycle(self, target: TargetTopic) -> None:
        mirror = self._settings
        upstream = cycle_check.upstream_of(mirror.source, self.topic, mirror.source_state)
        cycle_check.refuse_cycle(upstream, mirror.target, self.target_topic)
        target.tell_upstream(upstream)
