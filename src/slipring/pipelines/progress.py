# SPDX-License-Identifier: Apache-2.0
"""How far a job is: rows, bytes, rates, lag, time of a batch, loss, and when it will be over.

    watch = QueryWatch(query)
    while query.isActive:
        show(watch.figures())

`Figures` are what any job shows. `slipring.cli.terminal.progress` draws them as one line, `in_notebook` as a
display of a notebook. A `Meter` makes them from counts, for jobs that are not streaming queries.
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
WINDOW_S = 5.0  # rates are those of the last seconds


@dataclass(frozen=True)
class Figures:
    """Where a job stands; what it does not know is None."""

    rows: int = 0
    bytes: int | None = None
    rows_per_s: float | None = None
    bytes_per_s: float | None = None
    lag: int | None = None  # messages that are there and not taken yet
    batch_s: float | None = None  # how long the last batch took
    lost: int | None = None
    elapsed_s: float = 0.0
    eta_s: float | None = None
    stage: str | None = None  # what is done before there is anything to count

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def text(self, noun: str = "rows") -> str:
        """In one line; what is not known is left out."""
        left = [f"ETA {stopwatch(self.eta_s)}"] if self.eta_s else []  # 0: it only has to finish
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
    """What shows the figures of a job: `show` if there is one, else in a notebook a display of its own."""
    if show is not None or not _is_notebook():
        yield show
        return
    from .notebook import Display

    with Display(doing) as display:
        yield display


def _is_notebook() -> bool:
    """Whether this is the kernel of a notebook; IPython on a terminal is not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def stage(name: str, show: Show | None) -> Iterator[None]:
    """Show that something goes on, and for how long, while the block runs."""
    if show is None:
        yield
        return
    begun, over = time.monotonic(), threading.Event()

    def tell() -> None:
        while True:
            show(Figures(stage=name, elapsed_s=time.monotonic() - begun))
            if over.wait(STAGE_EVERY_S):
                return

    teller = threading.Thread(target=tell, name="slipring-stage", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


class Meter:
    """Rates and the time left, from counts that grow."""

    def __init__(
        self, *, total_rows: int | None = None, for_s: float | None = None, begun_s: float | None = None
    ) -> None:
        self._begun = time.monotonic() if begun_s is None else begun_s
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
        self._seen.append((now, rows, size or 0))  # the first is where the job began, not what it did
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_S:
            self._seen.popleft()
        then, rows_then, size_then = self._seen[0]
        rows_per_s = (rows - rows_then) / (now - then) if now > then else None
        bytes_per_s = (size - size_then) / (now - then) if size is not None and now > then else None
        elapsed_s = now - self._begun
        eta_s = self._eta(rows, rows_per_s, elapsed_s)
        return Figures(rows, size, rows_per_s, bytes_per_s, lag, batch_s, lost, elapsed_s, eta_s)

    def _eta(self, rows: int, rows_per_s: float | None, elapsed_s: float) -> float | None:
        if self._for_s is not None:
            return max(self._for_s - elapsed_s, 0.0)
        if self._total_rows is not None and rows_per_s:
            return max(self._total_rows - rows, 0) / rows_per_s
        return None


class QueryWatch:
    """Figures of a streaming query, from its progress; what Spark does not know can be given by `counts`.

    counts() -> (rows, bytes, lost) as they are known elsewhere, or None for what Spark tells.
    """

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
        self.begun = False  # the query has told of something

    def figures(self) -> Figures:
        """Where the query stands."""
        last = self._query.lastProgress
        if last is not None:
            self.begun = True
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
    """How many offsets lie between two offsets of the source, both as JSON; None when they do not tell."""
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
