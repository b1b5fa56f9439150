# SPDX-License-Identifier: Apache-2.0
"""One run: start the robot, kill and stop its processes, end it in order, collect the evidence, remove everything.

All files are in a directory in /dev/shm. The end of the `with` block ends every process and removes the directory.
"""

import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import slipring
from demo import interruption, robot, shutdown
from demo.evidence import STALLED_S, Evidence, TopicEnd
from demo.live_display import View, Watch
from demo.spark.pipeline import Pipeline
from storm import audit
from storm.board import LOST
from storm.strikes import Schedule, Strike
from storm.supervisor import Stuck

_TURN_S = 0.005
BESIDE_SPARK_S = (0.8, 1.6)  # between strikes
_SETTLE_S = 0.3
_LONGER_S = 120.0  # on a busy machine, until the slow reader has lost messages and Spark is back


class Run:
    def __init__(
        self, seconds: float, seed: int, recorded_in: Path | None, stalled_s: float = STALLED_S
    ) -> None:
        """recorded_in: the directory of the lake that Spark records; None: without Spark."""
        self._seconds, self._seed, self._recorded_in, self._stalled_s = seconds, seed, recorded_in, stalled_s
        self.pipeline: Pipeline | None = None
        self.counters: dict[str, dict[str, Any]] = {}
        self._root = Path(tempfile.mkdtemp(prefix=f"slipring-demo-{os.getpid()}-", dir="/dev/shm"))
        self._strikes: list[Strike] = []
        self._began_ns = self._ended_ns = 0
        self._lapped = False
        self._stuck: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._robot = shutdown.Robot(self._root)
            self._slow = next(role for role in self._robot.roles if role.name == "logger")
            # Spark starts on the same two processors as restarted processes.
            plan = robot.STRIKES
            plan = plan if self._recorded_in is None else replace(plan, every_s=BESIDE_SPARK_S)
            self._schedule = Schedule(self._robot, self._seed, plan, after=self._strikes.append)
            self._bus = slipring.Bus(robot.BUS, root=self._root / "bus")
            if self._recorded_in is not None:
                self.pipeline = Pipeline(self._root, self._recorded_in)
        except BaseException:
            shutil.rmtree(self._root)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self.pipeline is not None:
            self.pipeline.close()
        self._robot.close()
        self._bus.close()
        shutil.rmtree(self._root, ignore_errors=True)

    def play(self) -> None:
        for topic in robot.TOPICS.values():
            self._bus.create(topic.name, **topic.settings)
        if self.pipeline is not None:
            self.pipeline.open(self._bus)
        self._robot.start_all()
        self._kill_and_stop()
        try:
            self._robot.wind_down(self._bus)
            if self.pipeline is not None:
                self.pipeline.finish()
        except Stuck as stuck:
            self._stuck.append(str(stuck).splitlines()[0])

    def _kill_and_stop(self) -> None:
        self._began_ns = time.monotonic_ns()
        view = View(Watch(self._bus, self._robot), self._robot, self._seconds, self.pipeline)
        with view:
            begun = time.monotonic()
            end = begun + self._seconds
            while time.monotonic() < end or (time.monotonic() < end + _LONGER_S and not self._enough()):
                interruption.check()
                self._schedule.step()
                self._lapped = self._lapped or self._robot.board.word(self._slow.row, LOST) > 0
                if self.pipeline is not None:
                    self.pipeline.step((time.monotonic() - begun) / self._seconds)
                view.step()
                time.sleep(_TURN_S)
            self._schedule.finish()
            time.sleep(_SETTLE_S)
        self._ended_ns = time.monotonic_ns()

    def _enough(self) -> bool:
        """Whether there is enough to judge: losses, a kill, and a restart of Spark."""
        killed = any(strike.kind == "kill" for strike in self._strikes)
        return self._lapped and killed and (self.pipeline is None or self.pipeline.recovered)

    def collect(self) -> Evidence:
        """Collect the evidence. Call it once, after play: it removes the topics."""
        for role in self._robot.roles:
            if role.process is not None:
                self._robot.kill(role)
        stats, cleared, findings = shutdown.examine(self._bus)
        self.counters = stats
        evidence = Evidence(
            audit.lives(self._root / "work"),
            self._strikes,
            began_ns=self._began_ns,
            ended_ns=self._ended_ns,
            stalled_s=self._stalled_s,
        )
        for topic, stat in stats.items():
            evidence.ends[topic] = TopicEnd(stat["published"], stat["abandoned"], stat["tail"], stat["bytes"])
        evidence.cleared = [f"{finding['topic']}: {finding['problem']}" for finding in cleared]
        evidence.findings = [f"{finding['topic']}: {finding['problem']}" for finding in findings]
        evidence.left_over = self._stuck + shutdown.files_beside_topics(self._bus) + self._take_down()
        return evidence

    def _take_down(self) -> list[str]:
        """Remove topics, bus and files. Return what is left over."""
        for topic in self._bus.topics() if self.pipeline is not None else robot.TOPIC_NAMES:
            self._bus.remove(topic)
        left = [f"{self._bus.path}/{name}" for name in Path(self._bus.path).iterdir()]
        self._bus.close()
        self._robot.close()
        shutil.rmtree(self._root)
        return [str(path) for path in left] + shutdown.processes_left(self._root)
