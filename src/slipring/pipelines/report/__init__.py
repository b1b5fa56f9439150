# SPDX-License-Identifier: Apache-2.0
"""Reports on a recording.

    from slipring.pipelines.report import Report, report

report(spark, "lake/")             everything at once: Findings, and with ``html=`` a page to look at
Report(spark, rows)                one method for each table, as DataFrames for notebooks

tables     Report
rows, traffic, timing, calls       how the tables are computed
findings   all of them as plain data
page       the page
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .findings import Findings, find
from .tables import Report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Findings", "Report", "report", "write_page"]


def report(
    spark: SparkSession, lake: str | os.PathLike[str], *, html: str | os.PathLike[str] | None = None
) -> Findings:
    """All tables of the recording in the directory ``lake``; with ``html``, also as a page in that file."""
    from slipring.pipelines.lake import Lake

    found = find(Report(spark, Lake.open(lake).read(spark)), Path(lake).resolve().name)
    if html is not None:
        write_page(found, html)
    return found


def write_page(found: Findings, html: str | os.PathLike[str]) -> None:
    """Write the page; a file that is there is replaced, whole or not at all."""
    from .page import render

    path = Path(html)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(render(found), encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
