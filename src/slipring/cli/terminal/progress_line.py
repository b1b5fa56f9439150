# SPDX-License-Identifier: Apache-2.0
"""Progress on stderr: one live line on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from slipring.cli.terminal import process_exit

if TYPE_CHECKING:
    from slipring.bench.runner import Progress
    from slipring.pipelines.job_progress import Figures

PLAIN_EVERY_S = 5.0


def _on_terminal() -> bool:
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal and os.environ.get("TERM", "") not in ("", "dumb")


class _Display:
    """Something live on a terminal, which is None elsewhere."""

    def __init__(self) -> None:
        self._live: Any = None
        self._said = float("-inf")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class Line(_Display):
    """Shows figures while a job runs: ``with Line("recording") as line: job(progress=line)``."""

    def __init__(self, verb: str, noun: str = "rows", *, quiet: bool = False) -> None:
        super().__init__()
        self._verb = verb
        self._noun = noun
        self._quiet = quiet
        self._stage: str | None = None

    def __enter__(self) -> Self:
        if _on_terminal() and not self._quiet:
            from rich.console import Console
            from rich.live import Live

            self._live = Live("", console=Console(stderr=True), refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __call__(self, figures: Figures) -> None:
        if self._quiet:
            return
        text = f"{self._verb}: {figures.text(self._noun)}"
        if figures.stage != self._stage:
            self._stage, self._said = figures.stage, float("-inf")  # a new stage is shown at once
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(text, overflow="ellipsis", no_wrap=True))
        elif time.monotonic() - self._said >= PLAIN_EVERY_S:
            self._said = time.monotonic()
            process_exit.complain(text)


class Bar(_Display):
    """Shows a bar for a job with a known number of steps: ``with Bar() as bar: job(progress=bar)``."""

    def __init__(self) -> None:
        super().__init__()
        self._task: Any = None

    def __enter__(self) -> Self:
        if _on_terminal():
            from rich import progress
            from rich.console import Console

            columns = (
                progress.BarColumn(24),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TextColumn("{task.description}", markup=False),
            )
            self._live = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._live.add_task("", total=None)
            self._live.start()
        return self

    def __call__(self, at: Progress) -> None:
        if self._live is not None:
            self._live.update(self._task, completed=at.done, total=at.total or None, description=at.text)
        elif time.monotonic() - self._said >= PLAIN_EVERY_S:
            self._said = time.monotonic()
            process_exit.complain(f"{at.done}/{at.total} samples  {at.text}")

    def say(self, text: str) -> None:
        """Print a line that remains, above the bar if there is one."""
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            process_exit.complain(text)
