# SPDX-License-Identifier: Apache-2.0
"""After the run: a separate Spark job examines the recording, and its claims are added to the audit."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from demo.spark import accounts
from demo.spark.pipeline import REPOSITORY, Pipeline, environment
from storm.audit import Claim
from storm.supervisor import Stuck

_OURS = ("lake", "traffic-checkpoint")


def cleared(out: Path) -> Path:
    """Return the output directory, without the files of an earlier run."""
    out.mkdir(parents=True, exist_ok=True)
    for name in _OURS:
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "spark.log").unlink(missing_ok=True)
    return out


def examine(pipeline: Pipeline, counters: dict[str, dict[str, Any]], out: Path) -> list[Claim]:
    print("checking the recording: every file, a replay, the report …", flush=True)
    with tempfile.TemporaryDirectory(prefix="slipring-demo-proof-", dir="/dev/shm") as root:
        result = Path(root) / "result.json"
        config = {
            "lake": str(pipeline.lake),
            "root": root,
            "page": str(out / "traffic.html"),
            "result": str(result),
            "parent": os.getpid(),
        }
        with (out / "spark.log").open("ab") as log:
            code = subprocess.run(
                [sys.executable, "-m", "demo.spark.proof", json.dumps(config)],
                cwd=REPOSITORY,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            ).returncode
        if code:
            raise Stuck(f"the recording could not be examined; see {out / 'spark.log'}")
        proof = json.loads(result.read_text())
    lines = accounts.lines(counters, proof["held"])
    show(lines)
    return accounts.claims(lines, proof, pipeline.kills, pipeline.restarts)


def show(lines: list[accounts.Line]) -> None:
    table = Table(title="Published = recorded + lost", title_justify="left", title_style="bold")
    table.add_column("topic")
    for name in ("published", "recorded", "lost, counted as gaps", "abandoned", "adds up"):
        table.add_column(name, justify="right")
    for line in lines:
        counts = (f"{count:,}" for count in (line.published, line.recorded, line.lost, line.abandoned))
        table.add_row(line.topic, *counts, "[green]yes[/]" if line.adds_up else "[bold red]NO[/]")
    Console().print(table)


def print_paths(out: Path) -> None:
    lake = (out / "lake").resolve()
    print(f"The report on the recorded traffic is {(out / 'traffic.html').resolve()}")
    print(f"The recording is {lake}; try: slipring lake ls {lake}")
