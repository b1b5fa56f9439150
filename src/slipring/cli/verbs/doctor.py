# SPDX-License-Identifier: Apache-2.0
"""``slipring doctor``: check every segment, files of crashed processes, and this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from slipring.cli.terminal import host_checks, output
from slipring.cli.terminal.host_checks import OK, PROBLEM, Check
from slipring.cli.terminal.options import Target, format_option
from slipring.cli.terminal.output import Column
from slipring.cli.terminal.process_exit import complain
from slipring.units import counted

Findings = Sequence[Mapping[str, Any]]
_COLUMNS = (Column("topic"), Column("severity"), Column("finding"), Column("action"))
_MACHINE = (Column("machine"), Column("found"), Column("state"))


@click.command()
@click.option("--repair/--dry-run", default=False, help="Clear leftovers, or only list them (the default).")
@format_option()
@click.pass_obj
def command(target: Target, repair: bool, form: str) -> int:
    """Check every segment, find files of crashed processes, and check this machine.

    The machine's checks are free space, page size, kernel features, limits, clock source, and Java for Spark. The exit
    code is 1 while problems remain; --repair checks again after clearing. Leftovers of killed processes are notes, not
    problems: the next process that uses the topic clears them.
    """
    with target.open() as bus:
        checked = len(bus.contents())
        found = bus.doctor(repair=repair)
        remaining = bus.doctor(repair=False) if repair else found
        machine = host_checks.checks(bus)
    problems = [finding for finding in remaining if _is_problem(finding)]
    unfit = [check for check in machine if check.state == PROBLEM]
    if form == "json":
        record = {"checked": checked, "repair": repair, "findings": list(found), "remaining": list(remaining)}
        output.put_json({**record, "machine": [check._asdict() for check in machine]})
    else:
        _put(found, checked, repair, remaining)
        _put_machine(machine)
    if form == "table" and problems:
        fix = (
            "the rest cannot be cleared by --repair"
            if repair
            else "`slipring doctor --repair` clears those that can be cleared"
        )
        complain(f"error: {counted(len(problems), 'problem')} {'left' if repair else 'found'} ({fix})")
    if form == "table" and unfit:
        complain(f"error: this machine cannot run Slipring ({', '.join(check.check for check in unfit)})")
    return 1 if problems or unfit else 0


def _is_problem(finding: Mapping[str, Any]) -> bool:
    return bool(finding.get("severity", "problem") == "problem")


def _put(found: Findings, checked: int, repair: bool, remaining: Findings) -> None:
    shown = [*found, *(finding for finding in remaining if finding not in found)]
    problems = sum(map(_is_problem, shown))
    notes = len(shown) - problems
    said = (
        f"{counted(checked, 'topic')} checked, {counted(problems, 'problem') if problems else 'no problems'}"
    )
    if notes:
        cleared = "cleared" if repair else "cleared by the next process that uses it, or with --repair"
        said += f", {counted(notes, 'leftover')} of killed processes ({cleared})"
    output.put_line(said)
    if shown:
        output.put_line("")
        output.put_table(_COLUMNS, [_row(finding) for finding in shown])


def _put_machine(machine: Sequence[Check]) -> None:
    output.put_line("")
    output.put_table(_MACHINE, [(check.check, check.value, check.state) for check in machine])
    for check in machine:
        if check.state != OK:
            output.put_line(f"{check.state}: {check.check}: {check.value}: {check.advice}")


def _row(finding: Mapping[str, Any]) -> list[str]:
    facts = (finding.get(name) for name in ("topic", "severity", "problem", "action"))
    return [str(fact if fact is not None else "-") for fact in facts]
