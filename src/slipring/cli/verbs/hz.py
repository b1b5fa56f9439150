# SPDX-License-Identifier: Apache-2.0
"""``slipring hz``: the rate of messages."""

from __future__ import annotations

import math
import time
from typing import Any

import click

import slipring
from slipring._bus.settings import check_pattern, is_pattern
from slipring.cli.terminal import output
from slipring.cli.terminal.counters import living
from slipring.cli.terminal.intervals import Arrivals, Stamped
from slipring.cli.terminal.known_names import awaited
from slipring.cli.terminal.options import TIMES, Target, complete_topics, format_option, period
from slipring.cli.terminal.process_exit import Stopped, complain
from slipring.units import counted, duration, frequency, number, speed

_BATCH = 1024
_GAPS = ("min", "median", "p99", "max")


@click.command()
@click.argument("topic", shell_complete=complete_topics)
@click.option("--count", type=TIMES, help="End after this many messages.")
@click.option("--for", "for_s", type=period, metavar="SECONDS", help="End after this time.")
@click.option(
    "--window",
    "window_s",
    type=period,
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="Time between reports.",
)
@format_option("text")
@click.pass_obj
def command(
    target: Target, topic: str, count: int | None, for_s: float | None, window_s: float, form: str
) -> None:
    """Measure TOPIC: messages and bytes per second, and the intervals between messages.

    The first message starts the clock and is not counted; until then, notes on stderr show that hz waits. It never
    delays a publisher. When it cannot keep up, lost messages count in the rate, and bytes per second assume that they
    had the average size. The total is printed last, also after Ctrl-C. The topic need not exist yet.
    """
    if is_pattern(topic):
        check_pattern(topic)
        raise click.UsageError(
            f"hz measures one topic, and {topic!r} is a pattern: use `slipring top --filter` for several topics"
        )
    stop_at = time.monotonic() + for_s if for_s else math.inf
    with target.open() as bus:
        subscriber = bus.subscriber(topic, lossy=True)
        if not subscriber.attached:
            complain(awaited(bus, topic))
        meter = Meter(subscriber, count or math.inf, stop_at)
        silence = Silence(bus, topic, window_s)
        try:
            while not meter.begin(silence.due_s):
                if time.monotonic() >= stop_at:
                    break
                silence.report()
            while window := meter.window(window_s):
                _put("window", window, form)
        except Stopped:
            _put_total(meter, silence, form)
            raise
        _put_total(meter, silence, form)


class Silence:
    """Report on stderr that no message arrives, and the possible causes: after one window, then less often."""

    def __init__(self, bus: slipring.Bus, topic: str, window_s: float) -> None:
        self._bus = bus
        self._topic = topic
        self._begun_s = time.monotonic()
        self._wait_s = window_s

    @property
    def due_s(self) -> float:
        """Return the ``time.monotonic()`` of the next report."""
        return self._begun_s + self._wait_s

    @property
    def length_s(self) -> float:
        return time.monotonic() - self._begun_s

    def report(self) -> None:
        waited = duration(self.length_s)
        complain(f"no messages on topic {self._topic!r} for {waited} ({self._publishers()})")
        self._wait_s *= 2

    def _publishers(self) -> str:
        try:
            return counted(len(living(self._bus.stats(self._topic)["publishers"])), "publisher")
        except (slipring.TopicNotFound, slipring.TopicGone):
            return "there is no such topic yet"


class Meter:
    """Reads a subscriber in windows until ``count`` messages or ``stop_at``."""

    def __init__(self, subscriber: slipring.Subscriber, count: float, stop_at: float) -> None:
        self.total = Arrivals()
        self._subscriber = subscriber
        self._left = count
        self._stop_at = stop_at
        self._last: Stamped | None = None
        self._since = 0.0
        self._lost = 0

    @property
    def has_begun(self) -> bool:
        return self._last is not None

    def window(self, length_s: float) -> Arrivals | None:
        """Return the next window, or ``None`` at the end."""
        if self._left <= 0 or self._last is None or time.monotonic() >= self._stop_at:
            return None
        found = Arrivals()
        end = min(time.monotonic() + length_s, self._stop_at)
        try:
            while self._left > 0 and (wait_s := end - time.monotonic()) > 0:
                batch = self._subscriber.recv_many(int(min(_BATCH, self._left)), timeout=wait_s)
                self._last = found.add(batch, self._last)
                self._left -= len(batch)
        finally:
            self._close(found)
        return found

    def begin(self, until_s: float) -> bool:
        """Start the clock at the time stamp of the first message; return False if none arrives in time."""
        wait_s = min(until_s, self._stop_at) - time.monotonic()
        first = self._subscriber.recv(timeout=max(wait_s, 0.0))
        if first is None:
            return False
        self._last = first
        self._lost = self._subscriber.lost
        self._since = time.monotonic() - max(time.time_ns() - first.time_ns, 0) / 1e9
        return True

    def _close(self, found: Arrivals) -> None:
        now = time.monotonic()
        found.elapsed_s = now - self._since
        found.lost = self._subscriber.lost - self._lost
        self._since = now
        self._lost += found.lost
        self.total.merge(found)


def _put_total(meter: Meter, silence: Silence, form: str) -> None:
    if not meter.has_begun:
        meter.total.elapsed_s = silence.length_s
    _put("total", meter.total, form)


def _put(part: str, arrivals: Arrivals, form: str) -> None:
    summary: dict[str, Any] = arrivals.summary()
    if form == "json":
        output.put_json({"part": part, **summary})
        return
    if not summary["messages"] and not summary["lost"]:
        output.put_line(f"{part}: no messages in {duration(summary['elapsed_s'])}")
        return
    gaps = "  ".join(f"{name} {duration(summary[f'gap_{name}_s'])}" for name in _GAPS)
    rates = f"{frequency(summary['rate_hz'])} msg/s  {speed(summary['bytes_per_s'])}"
    seen = f"{number(summary['messages'])} in {duration(summary['elapsed_s'])}"
    lost = f"  lost {number(summary['lost'])}" if summary["lost"] else ""
    output.put_line(f"{part}: {rates}  gaps {gaps}  ({seen}){lost}")
