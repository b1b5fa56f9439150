# SPDX-License-Identifier: Apache-2.0
"""One micro-batch into the lake: written by Spark's tasks, committed by one log entry.

A batch has one row for each file that its tasks wrote (recording_source.py). Their files have to cover what Spark
planned (batch_plan.py). Spark runs a batch again when it does not know that it was finished; the log does, and
passes it over.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import slipring
from slipring.errors import SlipringError

from ..errors import IncompleteBatch, is_full
from ..lake import Lake, delta, holes
from ..lake import kill_points as places
from ..lake.errors import fault
from ..lake.model import File
from ..lake.stage import new_place, sweep
from .batch_plan import is_there, missing, planned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BatchWriter:
    """What foreachBatch calls. It can be pickled: some sessions handle batches in another process."""

    def __init__(self, path: str | os.PathLike[str], session: str) -> None:
        self.path = os.fspath(path)
        self.session = session
        self.failure: SlipringError | None = None
        self.stopped = False
        self._turn = threading.Lock()  # held while a batch is written
        self._lake: Lake | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "session": self.session}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], state["session"])  # type: ignore[misc]

    def stop(self) -> None:
        """Let the batch end that is being written, and write no more."""
        with self._turn:
            self.stopped = True

    def __call__(self, messages: DataFrame, batch: int) -> None:
        with self._turn:
            if self.stopped:
                raise RuntimeError("the recording is being stopped; this batch is for the next run")
            try:
                self._write(messages, batch)
            except SlipringError as error:
                self.failure = error
                raise

    def _write(self, messages: DataFrame, batch: int) -> None:
        if self._lake is None:
            self._lake = Lake.open(self.path)
        lake = self._lake
        # defect lake_recorded_batch_runs_again: if False:
        if lake.committed(self.session, batch):
            return
        files = self._written(lake, messages)
        files += self._lost(lake, batch, files)
        places.reached("batch staged")
        try:
            lake.commit(self.session, batch, files)
        finally:
            for stage in {Path(file.staged).parts[1] for file in files}:
                shutil.rmtree(lake.path / "_staging" / stage, ignore_errors=True)
        delta.mirror(lake)

    def _written(self, lake: Lake, messages: DataFrame) -> list[File]:
        """Have the tasks run; what they wrote."""
        try:
            rows = messages.collect()
        except Exception as error:
            sweep(lake, "record")  # what they wrote in vain: it may be that which filled the disk
            if is_full(error):
                raise fault(OSError(errno.ENOSPC, "No space left on device"), self.path) from error
            raise
        return [File.from_json(json.loads(row[0])) for row in rows]

    def _lost(self, lake: Lake, batch: int, files: list[File]) -> list[File]:
        """Holes for what the tasks did not find because its topic is gone; IncompleteBatch for anything else."""
        pieces = missing(planned(lake.path / "_checkpoint" / self.session, batch), files)
        if not pieces:
            return []
        about = lake.state.sessions[self.session].about
        with slipring.Bus(about["bus"], root=about["root"]) as bus:
            for piece in pieces:
                if is_there(bus, piece.topic, piece.generation):
                    raise IncompleteBatch(f"{piece} were planned and no task brought them")
        stage = new_place(lake.path, "record")
        return holes.write(stage, [(one.topic, one.generation, one.first, one.end) for one in pieces])
