# SPDX-License-Identifier: Apache-2.0
"""One performance: set the stage, play under fire, end in good order, collect the evidence, leave nothing.

The stage is a directory of its own in /dev/shm. Whatever happens, leaving `Show` ends every process and
removes it.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import slipring
from demo import cast, finale, interruption
from demo.chaos import EVERY_S, Chaos
from demo.evidence import Evidence, Story, TopicEnd, story_of
from demo.fleet import Fleet
from demo.live import View, Watch
from demo.spark.pipeline import Pipeline

_TURN_S = 0.005
BESIDE_SPARK_S = (0.8, 1.6)  # between strikes
_SETTLE_S = 0.3
_LONGER_S = 120.0  # on a machine too busy for the slow reader to be lapped, or Spark to be back, in time


class Show:
    def __init__(self, seconds: float, seed: int, recorded_in: Path | None) -> None:
        """recorded_in: where Spark's half of the show leaves its lake; None: without it."""
        self._seconds, self._seed, self._recorded_in = seconds, seed, recorded_in
        self.pipeline: Pipeline | None = None
        self.counters: dict[str, dict[str, Any]] = {}
        self._root = Path(tempfile.mkdtemp(prefix=f"slipring-demo-{os.getpid()}-", dir="/dev/shm"))
        self._began_ns = self._ended_ns = 0
        self._stuck: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._fleet = Fleet(self._root)
            # Every strike costs the start of an interpreter, and Spark wants to start on the same two processors.
            every_s = EVERY_S if self._recorded_in is None else BESIDE_SPARK_S
            self._chaos = Chaos(self._fleet, self._seed, every_s)
            self._bus = slipring.Bus(cast.BUS, root=self._root / "bus")
            if self._recorded_in is not None:
                self.pipeline = Pipeline(self._root, self._recorded_in)
        except BaseException:
            shutil.rmtree(self._root)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self.pipeline is not None:
            self.pipeline.close()
        self._fleet.close()
        self._bus.close()
        shutil.rmtree(self._root, ignore_errors=True)

    def play(self) -> None:
        for topic in cast.TOPICS.values():
            self._bus.create(topic.name, **topic.settings)
        if self.pipeline is not None:
            self.pipeline.open(self._bus)
        seats = list(cast.SEATS.values())
        recorder = self._fleet.start(seats[0])
        finale.until(lambda: finale.has_begun(recorder), "the recorder begins")
        lives = [self._fleet.start(seat) for seat in seats[1:]]
        finale.until(lambda: all(map(finale.has_begun, lives)), "all begin")
        self._under_fire()
        try:
            finale.wind_down(self._fleet)
            if self.pipeline is not None:
                self.pipeline.finish()
        except finale.Stuck as stuck:
            self._stuck.append(str(stuck))

    def _under_fire(self) -> None:
        self._began_ns = time.monotonic_ns()
        view = View(Watch(self._bus, self._fleet), self._fleet, self._chaos, self._seconds, self.pipeline)
        with view:
            begun = time.monotonic()
            end = begun + self._seconds
            while time.monotonic() < end or (time.monotonic() < end + _LONGER_S and not self._enough()):
                interruption.check()
                self._chaos.step()
                if self.pipeline is not None:
                    self.pipeline.step((time.monotonic() - begun) / self._seconds)
                view.step()
                time.sleep(_TURN_S)
            self._chaos.finish()
            time.sleep(_SETTLE_S)
        self._ended_ns = time.monotonic_ns()

    def _enough(self) -> bool:
        """So many samples that a slow reader must have been lapped, and Spark is back from its kill."""
        went_round = bool(self._bus.stats("imu")["tail"] >= 2 * cast.TOPICS["imu"].settings["slots"])
        return went_round and (self.pipeline is None or self.pipeline.recovered)

    def collect(self) -> Evidence:
        """Call it once, after play: it takes the stage down on the way."""
        self._fleet.close()
        stats, cleared, findings = finale.examine(self._bus)
        self.counters = stats
        evidence = Evidence(
            self._stories(), self._chaos.strikes, began_ns=self._began_ns, ended_ns=self._ended_ns
        )
        for topic, stat in stats.items():
            evidence.topics[topic] = TopicEnd(
                stat["published"], stat["abandoned"], stat["tail"], stat["bytes"]
            )
        evidence.cleared = [f"{finding['topic']}: {finding['problem']}" for finding in cleared]
        evidence.findings = [f"{finding['topic']}: {finding['problem']}" for finding in findings]
        evidence.left_over = self._stuck + finale.files_beside_topics(self._bus) + self._take_down()
        return evidence

    def _stories(self) -> list[Story]:
        return [story_of(life) for life in self._fleet.lives]

    def _take_down(self) -> list[str]:
        """What is there when there should be nothing."""
        for topic in self._bus.topics() if self.pipeline is not None else cast.TOPIC_NAMES:
            self._bus.remove(topic)
        left = [f"{self._bus.path}/{name}" for name in Path(self._bus.path).iterdir()]
        self._bus.close()
        shutil.rmtree(self._root)
        return [str(path) for path in left] + finale.processes_of(self._root)
