# SPDX-License-Identifier: Apache-2.0
"""Declarative pipelines between topics and tables: Spark's own (spark-pipelines), with a server and tables.

init(directory)   make a project in Spark's layout, with a commented example that runs
run(path)         run a project once: process everything new since the last run

Definitions find source and sink by the name "slipring". They see $SLIPRING_BUS and $SLIPRING_ROOT.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from slipring.errors import BadArgument

from .errors import explained
from .lake.local_path import local

SPECS: Final = ("spark-pipeline.yml", "spark-pipeline.yaml")
_ERROR: Final = re.compile(r"(?:[a-z_]\w*\.)*\w+(?:Error|Exception): ")  # the last line of a traceback
_PROJECT: Final = Path(__file__).with_name("project")


def init(directory: str | os.PathLike[str]) -> list[Path]:
    """Write a project that runs: a topic into a table, and a query on it onto a topic. Return the files written."""
    place = local(directory, "directory").resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BadArgument(f"'{place}' exists and is not empty: give a new directory", argument="directory")
    transformations = place / "transformations"
    transformations.mkdir(parents=True, exist_ok=True)
    spec = (_PROJECT / SPECS[0]).read_text()
    for word, text in {
        "name": place.name,
        "directory": str(place),
        "storage": (place / "storage").as_uri(),
    }.items():
        spec = spec.replace(f"{{{{ {word} }}}}", text)
    written = [place / SPECS[0], transformations / "alarms.py"]
    written[0].write_text(spec)
    written[1].write_text((_PROJECT / "alarms.py").read_text())
    return written


def run(
    path: str | os.PathLike[str],
    *,
    bus: str = "default",
    root: str | os.PathLike[str] | None = None,
    master: str | None = None,
    full_refresh: Iterable[str] = (),
    full_refresh_all: bool = False,
    dry: bool = False,
    on_line: Callable[[str], None] | None = None,
    **conf: Any,
) -> None:
    """Run a project: its spark-pipeline.yml, or its directory.

    bus, root: $SLIPRING_BUS and $SLIPRING_ROOT for the definitions. master: as in slipring.spark.session; a Connect
    server ("sc://…") keeps tables in its own place. full_refresh: tables to compute again. dry: only check. on_line:
    called with each line that Spark's pipelines print. Raises JobFailed with the message of Spark.
    """
    spec = find_spec(path)
    command = [
        sys.executable,
        "-m",
        "pyspark.pipelines.cli",
        "dry-run" if dry else "run",
        "--spec",
        str(spec),
    ]
    for table in full_refresh:
        command += ["--full-refresh", table]
    if full_refresh_all:
        command.append("--full-refresh-all")
    with _server(spec, master, conf) as address:
        environment = {
            **os.environ,
            "SPARK_REMOTE": address,
            "SPARK_CONNECT_MODE_ENABLED": "1",
            "SLIPRING_BUS": bus,
        }
        if root is not None:
            environment["SLIPRING_ROOT"] = os.fspath(root)
        _run(command, environment, on_line or (lambda line: None))


def find_spec(path: str | os.PathLike[str]) -> Path:
    """Return the spec of a project; BadArgument if there is none."""
    local(path, "path")
    given = Path(path)
    hint = (
        "give a spark-pipeline.yml or its directory; `slipring pipeline init DIRECTORY` writes one that runs"
    )
    if given.is_dir():
        found = [given / name for name in SPECS if (given / name).is_file()]
        if len(found) != 1:
            problem = "has two specs" if found else f"has no {SPECS[0]}"
            raise BadArgument(f"'{given}' {problem}: {hint}", argument="path")
        return found[0].resolve()
    if not given.is_file() or given.suffix not in (".yml", ".yaml"):
        problem = "is not a pipeline's spec" if given.exists() else "does not exist"
        raise BadArgument(f"'{given}' {problem}: {hint}", argument="path")
    return given.resolve()


def _server(spec: Path, master: str | None, conf: Mapping[str, Any]) -> Any:
    """Provide the server: a given Connect server, or a new one that keeps tables beside the spec."""
    where = master or os.environ.get("SPARK_REMOTE", "")
    if where.startswith("sc://"):
        if conf:
            raise BadArgument(f"{where} has its own settings: omit {', '.join(conf)}", argument="master")
        return nullcontext(where)
    from slipring.spark import connect

    home = spec.parent
    catalog = f"jdbc:derby:;databaseName={home / 'catalog'};create=true"
    settings = {
        "spark.sql.warehouse.dir": (home / "tables").as_uri(),
        "spark.sql.catalogImplementation": "hive",  # the one that remembers tables between runs
        "spark.hadoop.javax.jdo.option.ConnectionURL": catalog,
        "spark.driver.defaultJavaOptions": "-Dderby.stream.error.file=/dev/null",
        **conf,
    }
    return connect.server(f"pipeline {home.name}", master=master, **settings)


def _run(command: list[str], environment: dict[str, str], on_line: Callable[[str], None]) -> None:
    lines: list[str] = []
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                on_line(lines[-1])
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        errors = [line for line in lines if _ERROR.match(line)] or [line for line in lines if line.strip()]
        last = errors[-1] if errors else f"exit code {process.returncode}"
        raise explained(RuntimeError("\n".join([last, *lines])), "running the pipeline")
