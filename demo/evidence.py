# SPDX-License-Identifier: Apache-2.0
"""The input of the audit: the journals of all processes, the signals sent, and the final state of the bus.

It is plain data: `run` collects it, and tests write it by hand.
"""

from dataclasses import dataclass, field
from functools import cached_property

from demo import robot
from storm.audit import Life, Reading, Topic
from storm.strikes import Strike

STALLED_S = 5.0


@dataclass
class TopicEnd:
    """The counters in shared memory at the end of the run."""

    published: int
    abandoned: int
    tail: int
    bytes: int


@dataclass
class Evidence:
    lives: list[Life]
    strikes: list[Strike] = field(default_factory=list)
    ends: dict[str, TopicEnd] = field(default_factory=dict)  # by topic
    cleared: list[str] = field(
        default_factory=list
    )  # table entries of killed processes, cleared by the doctor
    findings: list[str] = field(default_factory=list)  # of the doctor, afterwards
    left_over: list[str] = field(default_factory=list)  # files and processes after the run
    began_ns: int = 0
    ended_ns: int = 0
    stalled_s: float = STALLED_S  # a process without progress for this time after a kill is stalled

    def of(self, name: str) -> list[Life]:
        return [life for life in self.lives if life.name == name]

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """The committed messages of each topic."""
        numbers = enumerate(robot.TOPIC_NAMES)
        return {name: Topic(name, number, self.ends[name].tail, self.lives) for number, name in numbers}

    def readings(self, topic: str | None = None) -> list[Reading]:
        wanted = robot.TOPIC_NAMES if topic is None else (topic,)
        numbers = [robot.TOPIC_NAMES.index(name) for name in wanted]
        return [life.readings[n] for life in self.lives for n in numbers if n in life.readings]

    @property
    def kills(self) -> list[Strike]:
        return [strike for strike in self.strikes if strike.kind == "kill"]
