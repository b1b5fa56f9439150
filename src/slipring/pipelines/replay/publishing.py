# SPDX-License-Identifier: Apache-2.0
"""One pass over the ordered messages of a recording: wait until each is due, publish it, count it, show progress."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from slipring.errors import Full

from ..job_progress import Meter, Show, stage
from .order import Extent, unpack
from .pace import SLICE_NS, Pace

if TYPE_CHECKING:
    from .targets import Targets

_SLICE_S = SLICE_NS / 1e9
_SHOW_EVERY = 256  # messages, before the clock is read


@dataclass
class Replayed:
    """The outcome of a replay. ``late_s``: lateness of messages against the recorded spacing, by percentile."""

    messages: int = 0
    bytes: int = 0
    of_messages: int = 0
    elapsed_s: float = 0.0
    waited_s: float = 0.0  # for room on reliable topics
    late_s: dict[str, float | None] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)  # messages by target topic
    notes: list[str] = field(default_factory=list)  # what was omitted, and why

    def _repr_html_(self) -> str:
        """For a notebook."""
        from slipring.pipelines.notebook_html import of_replayed

        return of_replayed(self)


class Run:
    """One pass over the ordered messages."""

    def __init__(
        self,
        extent: Extent,
        pace: Pace,
        stamped: bool,
        wait_s: float | None,
        targets: Targets,
        progress: Show | None,
        outcome: Replayed,
    ) -> None:
        self._extent, self._pace, self._stamped, self._wait_s = extent, pace, stamped, wait_s
        self._targets, self._progress, self._outcome = targets, progress, outcome
        self._due_ns, self._shown_s = extent.first_ns, 0.0
        self._meter: Meter | None = None  # its clock begins with the first message
        outcome.of_messages = extent.messages
        outcome.topics = {publisher.topic: 0 for publisher in targets.publishers.values()}

    def publish(self, feed: Iterable[bytes]) -> None:
        bodies = iter(feed)
        try:
            with stage("sorting", self._progress):
                first = list(itertools.islice(bodies, 1))
            for body in itertools.chain(first, bodies):
                self._batch(unpack(body))
        finally:
            self._show()
            self._outcome.late_s = (
                self._pace.lateness.percentiles(50, 90, 99, 99.9) if self._pace.speed else {}
            )

    def _batch(self, messages: Iterable[tuple[str, int, int, str, str, bytes]]) -> None:
        outcome, pace, publishers = self._outcome, self._pace, self._targets.publishers
        paced, stamped = pace.speed is not None, self._stamped
        if self._meter is None:
            self._meter = Meter(total_rows=self._extent.messages)
            self._show()  # before the first message fixes the schedule: the first display may take long
        for topic, due_ns, time_ns, sender, type_, value in messages:
            due = pace.due_ns(due_ns)
            self._due_ns = due_ns
            if paced:
                pace.wait(due, self._show_sometimes)
            publisher = publishers[topic]
            # defect replay_new_timestamps: stamp_ns = time.time_ns()
            stamp_ns = time_ns if stamped else time.time_ns()
            try:
                publisher._send_as(value, type_, sender, stamp_ns, 0)
            except Full:
                self._push(publisher, value, type_, sender, stamp_ns)
            if paced:
                pace.sent(due)
            outcome.messages += 1
            outcome.bytes += len(value)
            outcome.topics[publisher.topic] += 1
            if outcome.messages % _SHOW_EVERY == 0:
                self._show_sometimes()

    def _push(self, publisher: Any, *message: Any) -> None:
        """Wait for room in slices, and show progress meanwhile."""
        began_s = time.monotonic()
        while True:
            waited_s = time.monotonic() - began_s
            left_s = _SLICE_S if self._wait_s is None else min(_SLICE_S, self._wait_s - waited_s)
            try:
                publisher._send_as(*message, max(0.0, left_s))
                break
            except Full:
                if self._wait_s is not None and waited_s >= self._wait_s:
                    raise Full(
                        f"topic {publisher.topic!r} had no room for {self._wait_s:g} s: "
                        "a reader is behind or stopped; stop it, or allow a longer timeout",
                        argument="timeout",
                    ) from None
                self._show()
        self._outcome.waited_s += time.monotonic() - began_s

    def _show_sometimes(self) -> None:
        if time.monotonic() - self._shown_s >= _SLICE_S:
            self._show()

    def _show(self) -> None:
        outcome, self._shown_s = self._outcome, time.monotonic()
        if self._meter is None:
            return
        figures = self._meter.figures(outcome.messages, outcome.bytes)
        if self._pace.speed is not None:
            left_ns = (self._extent.last_ns - self._due_ns) / self._pace.speed
            figures = replace(figures, eta_s=left_ns / 1e9)
        outcome.elapsed_s = figures.elapsed_s
        if self._progress is not None:
            self._progress(figures)
