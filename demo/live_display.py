# SPDX-License-Identifier: Apache-2.0
"""The display during the run: a live table on a terminal, plain lines elsewhere.

Rates, readers, lag and loss come from counters in shared memory, without help of the processes. The longest time
without a message comes from the journal of the recorder.
"""

import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import slipring
from demo import robot
from demo.spark.pipeline import Pipeline
from storm.journal import Kind, Tail
from storm.supervisor import Supervisor

_REDRAW_S = 0.25
_LINE_S = 2.0


@dataclass
class Now:
    """The figures of one moment."""

    seconds: float
    rates: dict[str, float]  # messages a second since the figures before
    mb_rates: dict[str, float]
    stats: dict[str, dict[str, Any]]
    silence_ms: float


class Watch:
    """Reads the counters of the bus from time to time, and computes rates."""

    def __init__(self, bus: slipring.Bus, supervisor: Supervisor) -> None:
        self._bus, self._began = bus, time.monotonic()
        self._tail = Tail(supervisor.roles[0].journal)  # the recorder's
        self._tail.more()  # earlier messages do not count
        self._last_got_ns, self._silence_ms = 0, 0.0
        self._before: tuple[float, dict[str, dict[str, Any]]] = (self._began, self._stats())

    def _stats(self) -> dict[str, dict[str, Any]]:
        return {topic: self._bus.stats(topic) for topic in robot.TOPIC_NAMES}

    def _read_journal(self) -> None:
        records = self._tail.more()
        for time_ns in records[records["kind"] == Kind.RECEIVED]["time_ns"].tolist():
            if self._last_got_ns:
                self._silence_ms = max(self._silence_ms, (time_ns - self._last_got_ns) / 1e6)
            self._last_got_ns = time_ns

    def read(self) -> Now:
        self._read_journal()
        now, stats = time.monotonic(), self._stats()
        then, before = self._before
        self._before = now, stats
        passed = max(now - then, 1e-6)

        def rate(topic: str, counter: str) -> float:
            gained: int = stats[topic][counter] - before[topic][counter]
            return max(0.0, gained / passed)

        rates = {topic: rate(topic, "published") for topic in stats}
        mb_rates = {topic: rate(topic, "bytes") / 1e6 for topic in stats}
        return Now(now - self._began, rates, mb_rates, stats, self._silence_ms)


def _topic_table(now: Now) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("topic")
    for name in ("msg/s", "MB/s", "published", "writers", "readers", "max lag", "lost by these readers"):
        table.add_column(name, justify="right")
    for topic, stats in now.stats.items():
        readers = [reader for reader in stats["readers"] if reader["alive"]]
        lost = sum(reader["lost"] for reader in readers)
        table.add_row(
            topic,
            f"{now.rates[topic]:,.0f}",
            f"{now.mb_rates[topic]:,.2f}",
            f"{stats['published']:,}",
            str(sum(publisher["alive"] for publisher in stats["publishers"])),
            str(len(readers)),
            f"{max((reader['lag'] for reader in readers), default=0):,}",
            Text(f"{lost:,}", style="yellow" if lost else ""),
        )
    return table


def _process_line(supervisor: Supervisor) -> Text:
    line = Text()
    for role in supervisor.roles:
        style = "bold red" if not role.alive else "bold yellow" if role.paused else "green"
        mark = "✕" if not role.alive else "‖" if role.paused else "●"
        line.append(f"{mark}\N{NO-BREAK SPACE}", style=style)
        line.append(f"{role.name}", style="dim" if not role.alive else "")
        line.append(f"\N{NO-BREAK SPACE}x{role.lives}  " if role.lives > 1 else "  ", style="dim")
    return line


class View:
    def __init__(
        self, watch: Watch, supervisor: Supervisor, seconds: float, pipeline: Pipeline | None
    ) -> None:
        self._watch, self._supervisor, self._seconds = watch, supervisor, seconds
        self._pipeline = pipeline
        self._console = Console()
        tty = self._console.is_terminal and sys.stdout.isatty()
        self._live = Live(console=self._console, auto_refresh=False) if tty else None
        self._next = time.monotonic() + (0.0 if tty else _LINE_S)

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def step(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (_REDRAW_S if self._live else _LINE_S)
        now = self._watch.read()
        if self._live:
            self._live.update(self._picture(now), refresh=True)
        else:
            print(self._line(now), flush=True)
            if self._pipeline is not None:
                print(f"         {self._pipeline.line()}", flush=True)

    def _line(self, now: Now) -> str:
        rates = ", ".join(f"{topic} {rate:,.0f}/s" for topic, rate in now.rates.items())
        return (
            f"{now.seconds:5.1f} s  {self._supervisor.kills} kills, {self._supervisor.pauses} stops; {rates}, "
            f"{sum(now.mb_rates.values()):.1f} MB/s; longest time without any message {now.silence_ms:.1f} ms"
        )

    def _picture(self, now: Now) -> Group:
        facts = Text.assemble(
            (f"{self._supervisor.kills}", "bold red"),
            " kills, ",
            (f"{self._supervisor.pauses}", "bold yellow"),
            " stops so far; longest time without any message ",
            (f"{now.silence_ms:.1f} ms", "bold"),
        )
        bar = ProgressBar(total=self._seconds, completed=min(now.seconds, self._seconds), width=60)
        title = Text("Slipring demo: a robot whose processes are killed at random", style="bold")
        spark = Text(self._pipeline.line() if self._pipeline is not None else "", style="cyan")
        processes = _process_line(self._supervisor)
        return Group(title, bar, Text(), _topic_table(now), Text(), processes, Text(), facts, spark)
