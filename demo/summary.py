# SPDX-License-Identifier: Apache-2.0
"""The table of claims at the end, and the same as JSON."""

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from storm.audit import Claim

_PLAIN_WIDTH = 150


def show(claims: list[Claim]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PLAIN_WIDTH)
    table = Table(title="Audit", title_justify="left", title_style="bold")
    table.add_column("")
    table.add_column("claim")
    table.add_column("evidence", overflow="fold")
    for claim in claims:
        verdict = Text("PASS", style="bold green") if claim.passed else Text("FAIL", style="bold red")
        table.add_row(verdict, Text(claim.title), Text(claim.detail))
    console.print(table)


def write_json(path: Path, claims: list[Claim], facts: dict[str, object]) -> None:
    rows = [{"claim": claim.title, "passed": claim.passed, "detail": claim.detail} for claim in claims]
    path.write_text(json.dumps({**facts, "claims": rows}, indent=1) + "\n")
