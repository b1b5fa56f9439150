# SPDX-License-Identifier: Apache-2.0
"""`slipring record` runs during the soak in a process group of its own. Every row of its lake is checked at the end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

from soak import plan
from storm import bodies
from support.waiting import eventually

EVERY_S = 3
STARTS_WITHIN_S = ENDS_WITHIN_S = 600.0  # watchdogs
_SPARK = {"SPARK_DRIVER_MEMORY": "1g", "OPENBLAS_NUM_THREADS": "1"}


class Recording:
    """Run `slipring record`, and start it again after a failure of Spark, as a supervisor would.

    Spark fails if a Python process takes long to start, as on a busy machine. The restarts are counted and reported.
    """

    def __init__(self, root: Path, out: Path) -> None:
        self._root, self.lake = root, out / "lake"
        self._summary, self._log = out / "recording.json", out / "recording.log"
        self.restarts = 0
        self._start()

    def _start(self) -> None:
        root = self._root
        command = [str(Path(sys.executable).with_name("slipring")), "--bus", plan.BUS, "--root", str(root)]
        command += ["record", *plan.TOPICS, "--to", str(self.lake), "--every", str(EVERY_S)]
        command += ["--master", "local[1]", "--summary", "json"]
        with self._summary.open("wb") as told, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=log,
                env={**os.environ, **_SPARK},
                process_group=0,
            )

    def wait_until_it_records(self, bus: Any) -> None:
        """Wait for the cursor of the recording: messages published from now on are recorded."""
        eventually(
            lambda: self.ended or bus.cursors("reliable"), "Spark begins to record", timeout=STARTS_WITHIN_S
        )
        assert not self.ended, f"Spark ended with {self._process.returncode}; see {self._log}"

    def replace_if_dead(self) -> None:
        if self.ended:
            self.restarts += 1
            self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def finish(self) -> dict[str, Any]:
        """Let it record all messages and end. Return its report."""
        self.replace_if_dead()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(ENDS_WITHIN_S)
        return json.loads(self._summary.read_text() or "{}")

    def close(self) -> None:
        if not self.ended:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()


def rows(lake: Any, topic: str) -> Iterator[tuple[int, str, bytes]]:
    """Yield offset, sender and body of every recorded message."""
    import pyarrow.parquet as pq

    for file in lake.files([topic]):
        parquet = pq.ParquetFile(Path(lake.path) / file.path)
        for batch in parquet.iter_batches(2048, columns=["offset", "sender", "value"]):
            for offset, sender, value in zip(*batch.columns, strict=True):
                if value.is_valid:
                    yield offset.as_py(), sender.as_py(), memoryview(value.as_buffer())


def examine(path: Path) -> dict[str, Any]:
    """Return the counts and, in order of offset, offset and identity (0: corrupt) of every message."""
    from slipring.pipelines.lake import Lake
    from slipring.pipelines.lake.generations import contents
    from slipring.pipelines.lake.verify import verify

    began = time.monotonic()
    lake, verdict = Lake.open(path), verify(path)
    found: dict[str, Any] = {
        "problems": [f"{problem.where}: {problem.what}" for problem in verdict.problems],
        "topics": {},
    }
    for topic in plan.TOPICS:
        held = [(at, (bodies.check(who, body) or (0,))[0]) for at, who, body in rows(lake, topic)]
        table = numpy.array(sorted(held), dtype=numpy.uint64).reshape(-1, 2)
        counts = {
            name: sum(getattr(one, name) for one in contents(lake, [topic]))
            for name in ("messages", "lost", "abandoned", "files", "bytes")
        }
        found["topics"][topic] = {**counts, "offsets": table[:, 0], "identities": table[:, 1]}
    found["seconds"] = time.monotonic() - began
    return found
