# SPDX-License-Identifier: Apache-2.0
"""Displays in notebooks, as HTML without style: a running job, and results.

Display       a live display, updated while a job runs
of_...        a heading and a table of topics: of a recording, a replay, a report, a lake
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from slipring.units import counted, duration, frequency, moment, number, size

from .html.markup import tag, words

if TYPE_CHECKING:
    from .job_progress import Figures
    from .lake.generations import Generation
    from .record.finish import Summary
    from .replay.publishing import Replayed
    from .report import Findings

UPDATE_EVERY_S = 0.2
_NONE = "-"


class _Line:
    """A line of progress, as HTML and as text."""

    def __init__(self, doing: str, text: str, part: float | None = None) -> None:
        self._doing, self._text, self._part = doing, text, part

    def __repr__(self) -> str:
        return f"{self._doing}: {self._text}"

    def _repr_html_(self) -> str:
        bar = "" if self._part is None else tag("progress", value=self._part) + " "
        return tag("div", bar, tag("b", words(self._doing)), " ", words(self._text))


class Display:
    """Displays figures while a job runs: ``with Display("recording") as display: job(progress=display)``."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._started = self._shown = time.monotonic()
        self._last: Figures | None = None
        self._handle: Any = None

    def __enter__(self) -> Self:
        from IPython.display import display

        self._handle = display(_Line(self._doing, "starting"), display_id=True)  # type: ignore[no-untyped-call]
        return self

    def __call__(self, figures: Figures) -> None:
        is_new = self._last is None or figures.stage != self._last.stage
        self._last = figures
        if not is_new and time.monotonic() - self._shown < UPDATE_EVERY_S:
            return
        self._shown = time.monotonic()
        whole_s = figures.elapsed_s + (figures.eta_s or 0.0)
        part = figures.elapsed_s / whole_s if figures.eta_s is not None and whole_s else None
        self._handle.update(_Line(self._doing, figures.text("messages"), part))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        how = "ended" if kind is None else f"ended with {kind.__name__}"
        parts = [f"{how} after {duration(time.monotonic() - self._started)}"]
        if self._last is not None and self._last.stage is None:
            parts.append(counted(self._last.rows, "message"))
            if self._last.lost:
                parts.append(f"{number(self._last.lost)} lost")
        self._handle.update(_Line(self._doing, ", ".join(parts)))


def _shown(
    heading: str, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a heading, a table and notes. The first column is text from a recording, the others are figures."""
    head = tag("tr", *(tag("th", words(column)) for column in columns))
    body = [tag("tr", *(tag("td", words(cell)) for cell in row)) for row in rows]
    below = [tag("p", words(note)) for note in notes]
    table = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", tag("p", tag("b", words(heading))), table, *below)


def of_findings(found: Findings) -> str:
    totals = found.totals
    lost = f"{counted(totals['lost'], 'message')} lost" if totals["lost"] else "nothing lost"
    heading = (
        f"{found.name}: {counted(totals['messages'], 'message')} in {duration(totals['seconds'])}, {lost}"
    )
    rows = [
        (
            *(row["topic"], number(row["messages"])),
            _NONE if row["rate_hz"] is None else f"{frequency(row['rate_hz'])}/s",
            *(size(row["bytes"]), duration(row["interval_s_p50"]), duration(row["delay_s_p50"])),
            *(number(row["gaps"]), number(row["lost"])),
        )
        for row in found.topics
    ]
    columns = ("topic", "messages", "mean rate", "data", "interval p50", "delay p50", "gaps", "lost")
    return _shown(heading, columns, rows)


def of_summary(found: Summary) -> str:
    lost = f"{number(found.lost)} lost" if found.lost else "nothing lost"
    state = "" if found.ended else ", left open"
    heading = f"recorded {counted(found.messages, 'message')} into {found.lake} in {duration(found.elapsed_s)}, {lost}"
    counts = ("messages", "lost", "abandoned")
    rows = [(topic, *(number(counted_[name]) for name in counts)) for topic, counted_ in found.topics.items()]
    return _shown(heading + state, ("topic", *counts), rows, [found.warning] if found.warning else ())


def of_replayed(found: Replayed) -> str:
    done = counted(found.messages, "message")
    if found.messages != found.of_messages:
        done = f"{number(found.messages)} of {counted(found.of_messages, 'message')}"
    heading = f"replayed {done}, {size(found.bytes)}, in {duration(found.elapsed_s)}"
    notes = list(found.notes)
    if found.late_s:
        late = (f"{name} {duration(value)}" for name, value in found.late_s.items())
        notes.append(f"spacing error: {', '.join(late)}")
    if found.waited_s:
        notes.append(f"waited {duration(found.waited_s)} for readers of reliable topics")
    rows = [(topic, number(messages)) for topic, messages in found.topics.items()]
    return _shown(heading, ("topic", "messages"), rows, notes)


def of_lake(path: str, found: Sequence[Generation]) -> str:
    messages = sum(one.messages for one in found)
    rows = [
        (
            *(one.topic, number(one.messages), number(one.lost), number(one.abandoned), size(one.bytes)),
            *(_NONE if at is None else moment(at) for at in (one.first_time_ns, one.last_time_ns)),
        )
        for one in found
    ]
    columns = ("topic", "messages", "lost", "abandoned", "files", "first message", "last message")
    return _shown(f"{path}: {counted(messages, 'message')}", columns, rows)
