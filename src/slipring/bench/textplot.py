# SPDX-License-Identifier: Apache-2.0
"""Draws a run in text, for a terminal: bars on a logarithmic scale, full for ours, pale for C programs."""

from __future__ import annotations

from collections.abc import Iterator
from math import log10

from slipring.bench.bars import Samples
from slipring.bench.panels import LEGEND, Panel, Row, panels
from slipring.bench.spelling import spelled

WIDTH = 46
INK = {"ours": "█", "rival": "▒", "floor": "░"}


def lines(samples: Samples) -> Iterator[str]:
    for panel in panels(samples):
        yield f"{panel.title} ({panel.note}, logarithmic)"
        yield from bars(panel)
        yield ""
    yield "   ".join(f"{INK[kind]} {text}" for kind, text in LEGEND.items())


def bars(panel: Panel) -> Iterator[str]:
    # A decade below the smallest, so that the smallest has a bar too.
    lowest = log10(min(row.spread.middle for row in panel.rows)) - 0.5
    highest = max(log10(max(row.spread.middle for row in panel.rows)), lowest + 1)
    longest = max(len(row.name) for row in panel.rows)

    def bar(row: Row) -> str:
        share = (log10(row.spread.middle) - lowest) / (highest - lowest)
        return INK[row.kind] * max(1, round(share * WIDTH))

    for row in panel.rows:
        yield f"  {row.name.ljust(longest)}  {bar(row).ljust(WIDTH)}  {spelled(panel.figure, row.spread.middle)}"
