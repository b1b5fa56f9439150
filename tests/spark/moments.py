# SPDX-License-Identifier: Apache-2.0
"""Moments of a micro-batch at which a test kills a process.

    logged      its offsets are in the checkpoint, nothing is read yet
    running     a worker has read rows of it
    written     its rows are written, Spark has not committed it
    committed   its commit is in the checkpoint

A test arms a moment of a batch. The process that reaches it creates a file and waits until the moment is released, or
until it is killed. Everything is done by files, so that it works between any processes. (Spark does not wait at a
committed batch.)
"""

from pathlib import Path

from spark import PATIENCE_S
from support.waiting import eventually


class Moments:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "moments"
        self.folder.mkdir(exist_ok=True)
        self.checkpoint = folder / "checkpoint"
        self.out = folder / "out"

    def arm(self, moment: str, number: int) -> None:
        (self.folder / f"armed-{moment}-{number}").touch()

    def reached(self, moment: str, number: int) -> bool:
        if moment == "committed":
            return self.batches() > number
        return (self.folder / f"at-{moment}-{number}").exists()

    def wait(self, moment: str, number: int, alive=lambda: True) -> None:
        def is_there():
            assert alive(), "the query ended instead"
            return self.reached(moment, number)

        eventually(is_there, f"batch {number} being {moment}", PATIENCE_S)

    def release(self) -> None:
        for armed in self.folder.glob("armed-*"):
            armed.unlink()

    def batches(self, kind: str = "commits") -> int:
        """Return the number of batches in a log of the checkpoint."""
        return len([path for path in (self.checkpoint / kind).glob("*") if path.name.isdigit()])

    def writer(self):
        """Return a function for foreachBatch that writes a batch under its number: writing it again replaces it."""
        return _writer(str(self.folder), str(self.out))


def _writer(folder: str, out: str):
    """Return a closure, which Spark sends to its workers by value; it must use nothing of this module."""

    def reach(moment: str, number: int) -> None:
        import os
        import time

        armed = f"{folder}/armed-{moment}-{number}"
        if os.path.exists(armed):
            open(f"{folder}/at-{moment}-{number}", "w").close()
        while os.path.exists(armed):
            time.sleep(0.002)

    def write(batch, number: int) -> None:
        def running(batches):
            for one in batches:
                yield one
                reach("running", number)

        reach("logged", number)
        rows = batch.select("topic", "offset", "value")
        rows.mapInArrow(running, rows.schema).write.mode("overwrite").parquet(f"{out}/{number:06}")
        reach("written", number)

    return write
