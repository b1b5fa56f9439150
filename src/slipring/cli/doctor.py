# SPDX-License-Identifier: Apache-2.0
"""``slipring doctor``: what the dead left behind, and whether every segment is sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from slipring.cli import tables
from slipring.cli.endings import complain
from slipring.cli.options import Target, format_option
from slipring.cli.tables import Column
from slipring.cli.units import counted

Findings = Sequence[Mapping[str, Any]]
_COLUMNS = (Column("topic"), Column("problem"), Column("action"))


@click.command(short_help="Check all topics, clear leftovers.")
@click.option(
    "--repair/--dry-run", default=False, help="Clear what can be cleared, or only say so (the default)."
)
@format_option()
@click.pass_obj
def command(target: Target, repair: bool, form: str) -> int:
    """Check every segment, and find what dead processes left.

    The exit code is 1 while problems remain; --repair checks again after clearing.
    """
    with target.open() as bus:
        checked = len(bus.contents())
        found = bus.doctor(repair=repair)
        remaining = bus.doctor(repair=False) if repair else found
    if form == "json":
        record = {"checked": checked, "repair": repair, "findings": list(found), "remaining": list(remaining)}
        tables.put_json(record)
    else:
        _put(found, checked, repair, remaining)
    return 1 if remaining else 0


def _put(found: Findings, checked: int, repair: bool, remaining: Findings) -> None:
    shown = [*found, *(finding for finding in remaining if finding not in found)]
    if shown:
        tables.put_table(_COLUMNS, [_row(finding) for finding in shown])
    else:
        tables.put_line(f"{counted(checked, 'topic')} checked, no problems")
    if remaining:
        fix = (
            "no repair clears the rest" if repair else "`slipring doctor --repair` clears what can be cleared"
        )
        complain(f"error: {counted(len(remaining), 'problem')} {'left' if repair else 'found'} ({fix})")


def _row(finding: Mapping[str, Any]) -> list[str]:
    return [
        str(finding[name] if finding[name] is not None else "-") for name in ("topic", "problem", "action")
    ]
