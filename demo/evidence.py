# SPDX-License-Identifier: Apache-2.0
"""Everything the audit may look at: the journals of all lives, the strikes, and the bus as it was left.

Plain data: `run` collects it, tests make it by hand.
"""

from dataclasses import dataclass, field
from functools import cached_property

from demo import robot
from storm.audit import Life, Reading, Topic
from storm.strikes import Strike

STALLED_S = 5.0


@dataclass
class TopicEnd:
    """The counters in shared memory when all is over."""

    published: int
    abandoned: int
    tail: int
    bytes: int


@dataclass
class Evidence:
    lives: list[Life]
    strikes: list[Strike] = field(default_factory=list)
    ends: dict[str, TopicEnd] = field(default_factory=dict)  # by topic
    cleared: list[str] = field(default_factory=list)  # by the doctor: table entries of the dead
    findings: list[str] = field(default_factory=list)  # of the doctor, after that
    left_over: list[str] = field(default_factory=list)  # files and processes when the run was over
    began_ns: int = 0
    ended_ns: int = 0
    stalled_s: float = STALLED_S  # without progress for so long after a kill, a survivor counts as stalled

    def of(self, name: str) -> list[Life]:
        return [life for life in self.lives if life.name == name]

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """What was committed on each."""
        numbers = enumerate(robot.TOPIC_NAMES)
        return {name: Topic(name, number, self.ends[name].tail, self.lives) for number, name in numbers}

    def readings(self, topic: str | None = None) -> list[Reading]:
        wanted = robot.TOPIC_NAMES if topic is None else (topic,)
        numbers = [robot.TOPIC_NAMES.index(name) for name in wanted]
        return [life.readings[n] for life in self.lives for n in numbers if n in life.readings]

    @property
    def kills(self) -> list[Strike]:
        return [strike for strike in self.strikes if strike.kind == "kill"]
