# SPDX-License-Identifier: Apache-2.0
"""The Spark session of a single job: the one that this process has, or a new one that ends with the job."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import jvm
from .errors import MissingExtra
from .job_progress import Show, stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW_ROWS = 200_000
SHORT = {  # little data: planning and compiling a query takes longer than computing it
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


@contextmanager
def job_session(
    app_name: str, master: str | None, progress: Show | None = None, *, rows: int | None = None
) -> Iterator[SparkSession]:
    """Provide a Spark session for one job.

    rows: how many rows the job has to compute, if that is known; with few of them Spark is set up for a short job."""
    there = _session_of_this_process()
    if there is not None and master is None:
        yield there
        return
    with stage("starting Spark", progress):
        session = _started(app_name, master, short=rows is not None and rows <= FEW_ROWS)
    try:
        yield session
    finally:
        if there is None:
            # Each thread has its own connection to the JVM. An exception may have interrupted a call on this one's.
            with ThreadPoolExecutor(1) as other_thread:
                other_thread.submit(session.stop).result()


def _session_of_this_process() -> SparkSession | None:
    if "pyspark" not in sys.modules:
        return None  # importing it takes longer than everything before Spark starts
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _started(app_name: str, master: str | None, *, short: bool) -> SparkSession:
    where = master or os.environ.get("SPARK_MASTER") or "local[*]"
    starting = None if where.startswith("sc://") else jvm.launch(app_name, where, short=short)
    try:
        import slipring.spark

        if starting is not None:
            starting.connect()
        with _without_handler_of_pyspark():
            return slipring.spark.session(app_name, master=master, **(SHORT if short else {}))
    except BaseException as error:
        if starting is not None:
            starting.end()
        if isinstance(error, ImportError):
            raise MissingExtra(f'{app_name} needs Spark: pip install "slipring[spark]" ({error})') from error
        raise


@contextmanager
def _without_handler_of_pyspark() -> Iterator[None]:
    """Keep PySpark from handling SIGINT: its handler calls the JVM, perhaps in the middle of another call."""
    import pyspark.core.context

    context: Any = pyspark.core.context
    handlers = context.signal
    context.signal = SimpleNamespace(SIGINT=handlers.SIGINT, signal=lambda *_: None)
    try:
        yield
    finally:
        context.signal = handlers
