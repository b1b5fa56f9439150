# SPDX-License-Identifier: Apache-2.0
"""Progress of a job: rows, bytes, rates, lag, time of a batch, losses, and the time left.

    watch = QueryWatch(query)
    while query.isActive:
        show(watch.figures())

Every job shows `Figures`. `slipring.cli.terminal.progress_line` prints them as one line, `in_notebook` displays them in
a notebook. A `Meter` computes them from counts, for jobs that are not streaming queries.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from slipring.units import duration, frequency, number, speed, stopwatch

STAGE_EVERY_S = 0.1
WINDOW_S = 5.0  # of rates


@dataclass(frozen=True)
class Figures:
    """Figures of a job; None if one is not known."""

    rows: int = 0
    bytes: int | None = None
    rows_per_s: float | None = None
    bytes_per_s: float | None = None
    lag: int | None = None  # messages that are published and not read yet
    batch_s: float | None = None  # duration of the last batch
    lost: int | None = None
    elapsed_s: float = 0.0
    eta_s: float | None = None
    stage: str | None = None  # a step before there is anything to count

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def text(self, noun: str = "rows") -> str:
        """Return the known figures in one line."""
        left = [f"ETA {stopwatch(self.eta_s)}"] if self.eta_s else []  # 0: it is finishing
        if self.stage is not None:
            return "  ".join([f"{self.stage}… {stopwatch(self.elapsed_s)}", *left])
        parts = [f"{number(self.rows)} {noun}"]
        if self.bytes is not None:
            parts.append(f"{self.bytes / 1e6:,.1f} MB")
        if self.rows_per_s is not None:
            parts.append(f"{frequency(self.rows_per_s)} {noun}/s")
        if self.bytes_per_s is not None:
            parts.append(speed(self.bytes_per_s))
        if self.lag is not None:
            parts.append(f"lag {number(self.lag)}")
        if self.batch_s is not None:
            parts.append(f"batch {duration(self.batch_s)}")
        if self.lost is not None:
            parts.append(f"lost {number(self.lost)}")
        return "  ".join([*parts, f"for {stopwatch(self.elapsed_s)}", *left])


Show = Callable[[Figures], None]


@contextmanager
def in_notebook(doing: str, show: Show | None) -> Iterator[Show | None]:
    """Provide the display for a job: `show` if it is given, else a new one in a notebook, else None."""
    if show is not None or not _is_notebook():
        yield show
        return
    from .notebook_html import Display

    with Display(doing) as display:
        yield display


def _is_notebook() -> bool:
    """Whether this process is the kernel of a notebook. IPython in a terminal is not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def stage(name: str, show: Show | None) -> Iterator[None]:
    """Show the name of a step and its duration while the block runs."""
    if show is None:
        yield
        return
    started_s, over = time.monotonic(), threading.Event()

    def update() -> None:
        while True:
            show(Figures(stage=name, elapsed_s=time.monotonic() - started_s))
            if over.wait(STAGE_EVERY_S):
                return

    thread = threading.Thread(target=update, name="slipring-stage", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Meter:
    """Computes rates and the time left from counts."""

    def __init__(
        self, *, total_rows: int | None = None, for_s: float | None = None, started_s: float | None = None
    ) -> None:
        self._started_s = time.monotonic() if started_s is None else started_s
        self._total_rows = total_rows
        self._for_s = for_s
        self._seen: deque[tuple[float, int, int]] = deque()

    def figures(
        self,
        rows: int,
        size: int | None = None,
        *,
        lag: int | None = None,
        batch_s: float | None = None,
        lost: int | None = None,
    ) -> Figures:
        now = time.monotonic()
        self._seen.append((now, rows, size or 0))  # the first one is the baseline
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_S:
            self._seen.popleft()
        then, rows_then, size_then = self._seen[0]
        rows_per_s = (rows - rows_then) / (now - then) if now > then else None
        bytes_per_s = (size - size_then) / (now - then) if size is not None and now > then else None
        elapsed_s = now - self._started_s
        eta_s = self._eta(rows, rows_per_s, elapsed_s)
        return Figures(rows, size, rows_per_s, bytes_per_s, lag, batch_s, lost, elapsed_s, eta_s)

    def _eta(self, rows: int, rows_per_s: float | None, elapsed_s: float) -> float | None:
        if self._for_s is not None:
            return max(self._for_s - elapsed_s, 0.0)
        if self._total_rows is not None and rows_per_s:
            return max(self._total_rows - rows, 0) / rows_per_s
        return None


class QueryWatch:
    """Figures of a streaming query, from its progress.

    counts: a function that returns (rows, bytes, lost), if they are known better than Spark knows them."""

    def __init__(
        self,
        query: Any,
        *,
        counts: Callable[[], tuple[int, int, int]] | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._query = query
        self._counts = counts
        self._meter = meter or Meter()
        self._last_batch = -1
        self._rows = 0
        self._batch_s: float | None = None
        self._lag: int | None = None
        self.has_progress = False

    def figures(self) -> Figures:
        """Return the present figures."""
        last = self._query.lastProgress
        if last is not None:
            self.has_progress = True
            missed = last.batchId > self._last_batch + 1 and self._counts is None
            for progress in self._query.recentProgress if missed else [last]:
                self._take(progress)
        rows, size, lost = self._counts() if self._counts else (self._rows, None, None)
        return self._meter.figures(rows, size, lag=self._lag, batch_s=self._batch_s, lost=lost)

    def _take(self, progress: Any) -> None:
        if progress.batchId > self._last_batch and progress.numInputRows:
            self._last_batch = progress.batchId
            self._rows += progress.numInputRows
            self._batch_s = progress.durationMs.get("triggerExecution", 0) / 1e3
        lags = [lag(source.endOffset, source.latestOffset) for source in progress.sources]
        known = [one for one in lags if one is not None]
        self._lag = sum(known) if known else None


def lag(end: str | None, latest: str | None) -> int | None:
    """Return the number of messages between two offsets of the source, both as JSON; None if it is not known."""
    try:
        taken: dict[str, dict[str, int]]
        there: dict[str, dict[str, int]]
        taken, there = (json.loads(text)["topics"] for text in (end or "", latest or ""))
        return sum(
            max(
                there[topic]["next"] - taken.get(topic, {"next": there[topic].get("origin", 0)})["next"],
                0,
            )
            for topic in there
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # another source, or nothing read yet
