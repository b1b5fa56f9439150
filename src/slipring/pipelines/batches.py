# SPDX-License-Identifier: Apache-2.0
"""One micro-batch into the lake: staged by Spark's tasks, committed by one log entry.

Spark runs a batch again when it does not know that it was finished; the log does, and passes it over.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from slipring.errors import SlipringError

from .lake import Lake, delta, places
from .lake.writing import stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BatchWriter:
    """What foreachBatch calls. It can be pickled: some sessions handle batches in another process."""

    def __init__(self, path: str | os.PathLike[str], session: str, *, sync: bool = True) -> None:
        self.path = os.fspath(path)
        self.session = session
        self.sync = sync
        self.failure: SlipringError | None = None
        self.stopped = False
        self._turn = threading.Lock()  # held while a batch is written
        self._lake: Lake | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "session": self.session, "sync": self.sync}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], state["session"], sync=state["sync"])  # type: ignore[misc]

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
        if lake.committed(self.session, batch):
            return
        place = stage(lake, messages)
        try:
            files = place.files(sync=self.sync)
            places.reached("batch staged")
            lake.commit(self.session, batch, files)
        finally:
            place.remove()
        delta.mirror(lake)
