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
        checked = len(bus.topics())
        found = bus.doctor(repair=repair)
        remaining = bus.doctor(repair=False) if repair else found
    if form == "json":
        record = {"checked": checked, "repair": repair, "findings": list(found), "remaining": list(remaining)}
        tables.put_json(record)
    else:
        _put(found, checked, repair, remaining)
    return 1 if remaining else 0


def _put(
    found: Sequence[Mapping[str, Any]], checked: int, repair: bool, remaining: Sequence[Mapping[str, Any]]
) -> None:
    if found:
        tables.put_table(_COLUMNS, [_row(finding) for finding in found])
    else:
        tables.put_line(f"{checked} topics checked, no problems")
    if remaining and repair:
        tables.put_table(_COLUMNS, [_row(finding) for finding in remaining], title="remaining")
        complain(
            f"error: {len(remaining)} problems remain (no repair clears them; `slipring rm` removes a topic)"
        )
    elif remaining:
        complain(
            f"error: {len(remaining)} problems found (`slipring doctor --repair` clears what can be cleared)"
        )


def _row(finding: Mapping[str, Any]) -> list[str]:
    return [
        str(finding[name] if finding[name] is not None else "-") for name in ("topic", "problem", "action")
    ]
