# SPDX-License-Identifier: Apache-2.0
"""Reports on a recording.

    from slipring.pipelines.report import Report, report

report("lake/")                    everything at once: Findings, and with ``html=`` a page
overview(Lake.open("lake/"))       messages, losses and times from the log, without Spark
Report(spark, rows)                one method for each table, as DataFrames for notebooks

dataframes   Report
rows, traffic, timing, calls, fields   how the tables are computed
findings     all tables as plain data
page         the page
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from slipring.errors import BadArgument
from slipring.pipelines.errors import failures
from slipring.pipelines.job_progress import Show, in_notebook, stage
from slipring.pipelines.job_session import job_session
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.local_path import local

from .dataframes import Report
from .fields import recorded
from .findings import Findings, find, overview

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Findings", "Report", "overview", "report", "write_page"]


def report(
    lake: str | os.PathLike[str],
    *,
    html: str | os.PathLike[str] | None = None,
    master: str | None = None,
    spark: SparkSession | None = None,
    progress: Show | None = None,
) -> Findings:
    """Return all tables of the recording in the directory ``lake``. html: write them as a page into that file."""
    if html is not None:
        local(html, "html")
    found = Lake.open(lake)
    with ExitStack() as stack:
        progress = stack.enter_context(in_notebook("report", progress))
        chosen = spark or stack.enter_context(
            job_session("slipring report", master, progress, rows=found.rows())
        )
        stack.enter_context(failures("computing the report"))
        stack.enter_context(stage("computing", progress))
        findings = find(Report(chosen, found.read(chosen), recorded(found)), found.path.name)
    if html is not None:
        write_page(findings, html)
    return findings


def write_page(found: Findings, html: str | os.PathLike[str]) -> None:
    """Write the page. An existing file is replaced as a whole."""
    from .page import render

    path = local(html, "html")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(render(found), encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise BadArgument(
            f"html={os.fspath(html)!r} cannot be written: {error.strerror}", argument="html"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


# `slipring.pipelines.report` is the function, which hides this package there: its class is found either way.
report.Report = Report  # type: ignore[attr-defined]
