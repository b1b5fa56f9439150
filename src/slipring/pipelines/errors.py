# SPDX-License-Identifier: Apache-2.0
"""Errors of Spark jobs: an error of this package inside Spark's, or one of Spark's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from slipring.errors import MissingExtra as MissingExtra
from slipring.errors import SlipringError

# The last line of a Python traceback in a message of Spark's: "slipring.spark.errors.BadOption: option …"
_OURS = re.compile(r"^\s*(?:[\w.]+: )*?slipring[\w.]*\.(\w+): (.+)$", re.MULTILINE)
_NO_SPACE = ("No space left on device", "Disk quota exceeded")


class JobFailed(SlipringError):
    """A Spark job failed, with an error of this package (`ours`) or with one of Spark's own."""

    ours = False


class SparkGone(SlipringError):
    """The JVM of Spark ended during the job."""

    def __init__(self, doing: str) -> None:
        super().__init__(
            f"Spark's process ended while {doing}: all commits are complete; run the same command again to "
            "continue"
        )


class IncompleteBatch(SlipringError):
    """The files of a batch do not have the planned offsets: a task did not read its topic, or read other offsets."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"a batch is not recorded, because {why}: nothing of it counts, and nothing is lost; run all tasks on the "
            "host of the topics, with access to their bus directory, and run the same command again"
        )


def explained(error: BaseException, doing: str) -> SlipringError:
    """Return an error of Spark's as an error of this package, in one line."""
    if isinstance(error, SlipringError):
        return error
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        kind, message = ours[-1]
        failed = JobFailed(f"{message} ({kind}, while {doing})")
        failed.ours = True
        return failed
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return JobFailed(f"Spark failed while {doing}: {first[:500]}")


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """Raise errors of Spark's within the block as errors of this package."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if is_gone(error):
            raise SparkGone(doing) from error
        raise explained(error, doing) from error


def is_full(error: BaseException) -> bool:
    """Whether Spark failed because a disk is full."""
    return any(words in str(error) for words in _NO_SPACE)


def is_gone(error: BaseException) -> bool:
    """Whether Spark's process is gone, as opposed to a failed job."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, (Py4JNetworkError, ConnectionError, EOFError))
