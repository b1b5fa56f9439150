# SPDX-License-Identifier: Apache-2.0
"""Why a Spark job ended: the error of ours inside Spark's, or what to do about Spark's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from slipring.errors import SlipringError

# The last line of a Python traceback in a message of Spark's: "slipring.spark.errors.BadOption: option …"
_OURS = re.compile(r"^\s*(?:[\w.]+: )*?slipring[\w.]*\.(\w+): (.+)$", re.MULTILINE)
_NO_SPACE = ("No space left on device", "Disk quota exceeded")


class JobFailed(SlipringError):
    """A Spark job ended with an error: one of ours, inside Spark's, or one of Spark's own."""

    ours = False


class SparkGone(SlipringError):
    """Spark's own process ended under the job."""

    def __init__(self, doing: str) -> None:
        super().__init__(
            f"Spark's process ended while {doing}: what was committed is whole; run the same command again "
            "to go on"
        )


class IncompleteBatch(SlipringError):
    """The files of a batch are not what was planned: a task did not read its topic, or read something else."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"a batch is not recorded, because {why}: nothing of it counts, and nothing is lost; run every task on the "
            "host of the topics, where it sees their bus directory, and run the same command again"
        )


def explained(error: BaseException, doing: str) -> SlipringError:
    """An error of Spark's as one of ours, in one line."""
    if isinstance(error, SlipringError):
        return error
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        kind, says = ours[-1]
        failed = JobFailed(f"{says} ({kind}, while {doing})")
        failed.ours = True
        return failed
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return JobFailed(f"Spark failed while {doing}: {first[:500]}")


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """What Spark raises within the block becomes one of our errors; everything else stays what it is."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if is_gone(error):
            raise SparkGone(doing) from error
        raise explained(error, doing) from error


def is_full(error: BaseException) -> bool:
    """Whether Spark failed for want of space."""
    return any(words in str(error) for words in _NO_SPACE)


def is_gone(error: BaseException) -> bool:
    """Whether it is Spark's process that is gone, not the job."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, (Py4JNetworkError, ConnectionError, EOFError))
