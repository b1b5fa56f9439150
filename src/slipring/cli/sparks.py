# SPDX-License-Identifier: Apache-2.0
"""The Spark session of a verb."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

master_option = click.option(
    "--master", metavar="URL", help="Where Spark runs.  [default: all processors of this machine]"
)


@contextmanager
def session(verb: str, master: str | None) -> Iterator[SparkSession]:
    """A session that ends with the verb. Ctrl-C stays what it is for the other verbs: Spark would take it."""
    from slipring.pipelines.endings import own_session

    before = signal.getsignal(signal.SIGINT)
    with own_session(f"slipring {verb}", master) as spark:
        signal.signal(signal.SIGINT, before)
        yield spark
