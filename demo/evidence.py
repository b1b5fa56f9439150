# SPDX-License-Identifier: Apache-2.0
"""Everything the audit may look at: the journals of all lives, the strikes, and the bus as it was left.

Plain data. `collect` reads the journals; tests make evidence by hand.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from demo import cast
from demo.chaos import Strike
from demo.fleet import Life
from demo.journal import Kind, Record, read


def _column() -> "array[int]":
    return array("Q")


class Count(NamedTuple):
    """A reader's own account, and how many messages its journal has up to there."""

    time_ns: int
    rows: int
    position: int
    received: int
    lost: int
    filtered: int


@dataclass
class Reading:
    """One topic as one life read it."""

    start: Count
    seqs: "array[int]" = field(default_factory=_column)
    identities: "array[int]" = field(default_factory=_column)
    sent_ns: "array[int]" = field(default_factory=_column)
    got_ns: "array[int]" = field(default_factory=_column)
    counts: list[Count] = field(default_factory=list)
    corrupt: list[int] = field(default_factory=list)
    done: bool = False


@dataclass
class Story:
    """What one life wrote down, and how it ended."""

    seat: str
    incarnation: int
    started_ns: int
    ended_ns: int
    exit_code: int
    killed: bool
    errors: str = ""
    sent: dict[str, list[tuple[int, int, int]]] = field(
        default_factory=dict
    )  # topic: (time_ns, seq, identity)
    readings: dict[str, Reading] = field(default_factory=dict)
    handled: list[tuple[int, int]] = field(default_factory=list)  # (time_ns, seq)
    committed: list[tuple[int, int]] = field(default_factory=list)  # (time_ns, position)
    aborted: int = 0
    skipped: int = 0


@dataclass
class TopicEnd:
    """The counters in shared memory when all is over."""

    published: int
    abandoned: int
    tail: int
    bytes: int = 0


@dataclass
class Evidence:
    stories: list[Story]
    strikes: list[Strike] = field(default_factory=list)
    topics: dict[str, TopicEnd] = field(default_factory=dict)
    cleared: list[str] = field(default_factory=list)  # by the doctor: table entries of the dead
    findings: list[str] = field(default_factory=list)  # of the doctor, after that
    left_over: list[str] = field(default_factory=list)  # files and processes when the show was over
    began_ns: int = 0
    ended_ns: int = 0

    def of(self, seat: str) -> list[Story]:
        return [story for story in self.stories if story.seat == seat]

    def readings(self) -> list[tuple[Story, str, Reading]]:
        return [(story, topic, r) for story in self.stories for topic, r in story.readings.items()]

    @property
    def kills(self) -> list[Strike]:
        return [strike for strike in self.strikes if strike.kind == "kill"]


def _read_on(reading: Reading, record: Record) -> None:
    if record.kind == Kind.GOT:
        reading.seqs.append(record.a)
        reading.identities.append(record.b)
        reading.sent_ns.append(record.c)
        reading.got_ns.append(record.time_ns)
    elif record.kind == Kind.CORRUPT:
        reading.corrupt.append(record.a)
    elif record.kind == Kind.COUNT:
        reading.counts.append(Count(record.time_ns, len(reading.seqs), *record[3:]))
    elif record.kind == Kind.DONE:
        reading.done = True


def tell(story: Story, records: Iterable[Record]) -> Story:
    """Adds what the journal says."""
    for record in records:
        topic = cast.TOPIC_NAMES[record.topic]
        if record.kind == Kind.START:
            story.readings[topic] = Reading(Count(record.time_ns, 0, *record[3:]))
        elif record.kind == Kind.SENT:
            story.sent.setdefault(topic, []).append((record.time_ns, record.a, record.b))
        elif record.kind == Kind.HANDLED:
            story.handled.append((record.time_ns, record.a))
        elif record.kind == Kind.COMMITTED:
            story.committed.append((record.time_ns, record.a))
        elif record.kind == Kind.ABORTED:
            story.aborted += 1
        elif record.kind == Kind.SKIPPED:
            story.skipped += 1
        elif topic in story.readings:
            _read_on(story.readings[topic], record)
    return story


def story_of(life: Life) -> Story:
    assert life.exit_code is not None and life.ended_ns is not None
    story = Story(
        life.seat.name, life.incarnation, life.started_ns, life.ended_ns, life.exit_code, life.killed
    )
    story.errors = life.errors.read_text(errors="replace")
    return tell(story, read(life.journal))
