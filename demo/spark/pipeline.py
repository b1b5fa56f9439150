# SPDX-License-Identifier: Apache-2.0
"""Start the Spark job and the callers, kill the job once, end them, and show their progress.

The job has a process group of its own. So one SIGKILL ends driver, JVM and Python workers together, which is the worst
case.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import slipring
from demo import interruption, robot
from storm.supervisor import Stuck

RECORDED = (*robot.TOPIC_NAMES, "planner.*")
SUMMED = robot.TOPIC_NAMES
TRAFFIC = "traffic"
REPOSITORY = Path(__file__).resolve().parents[2]
STARTS_WITHIN_S = 300.0  # a watchdog
_KILL_AT = 0.35  # of the time in which processes are killed
_RESTARTS = 3  # Spark fails if a Python process takes ten seconds to start, as on a busy machine


def environment() -> dict[str, str]:
    """The environment of the Spark programs: threads of numpy would use processors that other processes need."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


class Pipeline:
    def __init__(self, root: Path, out: Path) -> None:
        self._root, self._out = root, out
        self.lake = out / "lake"
        self._state = root / "spark.json"
        self._job: subprocess.Popen[bytes] | None = None
        self._callers: list[subprocess.Popen[bytes]] = []
        self._traffic: slipring.Subscriber | None = None
        self._sums: dict[str, dict[str, Any]] = {}
        self._rows_at_kill = 0
        self.kills = self.restarts = 0

    # Processes

    def _start(self, module: str, **config: Any) -> subprocess.Popen[bytes]:
        with (self._out / "spark.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, json.dumps({**config, "parent": os.getpid()})],
                cwd=REPOSITORY,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    def _start_job(self) -> None:
        self._job = self._start(
            "demo.spark.job",
            bus=robot.BUS,
            root=str(self._root / "bus"),
            lake=str(self.lake),
            checkpoint=str(self._out / "traffic-checkpoint"),
            state=str(self._state),
        )

    def open(self, bus: slipring.Bus) -> None:
        """Start the recording, and wait until it has begun."""
        bus.create(TRAFFIC, capacity="1MiB", delivery="lossy")
        self._traffic = bus.subscriber(TRAFFIC, start="oldest")
        for part in ("serve", "ask"):
            self._callers.append(self._start("demo.spark.callers", root=str(self._root / "bus"), part=part))
        print("starting Spark …", flush=True)
        self._start_job()
        self._wait(lambda: self._state.exists(), "Spark begins to record")

    def _wait(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not condition():
            interruption.check()
            self._check()
            if time.monotonic() > deadline:
                raise Stuck(f"{what}: not within {STARTS_WITHIN_S:.0f} s; see {self._out / 'spark.log'}")
            time.sleep(0.05)

    def _check(self) -> None:
        """Restart a job that ended by itself, as its supervisor does, and count that."""
        if self._job is None or self._job.poll() is None:
            return
        self.restarts += 1
        if self.restarts > _RESTARTS:
            raise Stuck(f"the Spark job ended with {self._job.returncode}; see {self._out / 'spark.log'}")
        self._start_job()

    def _kill(self) -> None:
        assert self._job is not None
        os.killpg(self._job.pid, signal.SIGKILL)
        self._job.wait()
        self.kills += 1
        self._rows_at_kill = self.figures().get("rows", 0)
        self._state.unlink(missing_ok=True)
        self._start_job()

    def step(self, share: float) -> None:
        """Called again and again; share: the part of the run that has passed."""
        self._check()
        if self.kills == 0 and share > _KILL_AT and self.figures().get("rows", 0) > 0:
            self._kill()
        assert self._traffic is not None
        for message in self._traffic.recv_many(1024, timeout=0):
            sums = json.loads(bytes(message.body))
            self._sums[sums["topic"]] = sums

    @property
    def recovered(self) -> bool:
        """Whether it was killed and records again."""
        return self.kills > 0 and self.figures().get("rows", 0) > 0

    def figures(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._state.read_text())
        except FileNotFoundError:
            return {}
        return found

    def line(self) -> str:
        figures = self.figures()
        if not figures:
            return "Spark: starting again after SIGKILL" if self.kills else "Spark: starting"
        sums = ", ".join(f"{topic} {found['messages']:,}/s" for topic, found in sorted(self._sums.items()))
        lag = figures.get("lag")
        return (
            f"Spark: {figures['rows']:,} rows recorded, lag {'?' if lag is None else f'{lag:,}'}, "
            f"lost {figures.get('lost') or 0:,}" + (f"; on topic {TRAFFIC}: {sums}" if sums else "")
        )

    def finish(self) -> None:
        """Record what is published, and end. Only the callers may still publish."""
        for caller in self._callers:
            caller.send_signal(signal.SIGTERM)
        for caller in reversed(self._callers):
            caller.wait(STARTS_WITHIN_S)
        assert self._job is not None
        self._job.send_signal(signal.SIGTERM)
        code = self._job.wait(STARTS_WITHIN_S)
        if code:
            raise Stuck(f"the Spark job ended with {code}; see {self._out / 'spark.log'}")

    def close(self) -> None:
        for process in (*self._callers, self._job):
            if process is not None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                process.wait()
