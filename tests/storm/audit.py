# SPDX-License-Identifier: Apache-2.0
"""Add up the journals. Every check is a pure function that returns its counter-examples as sentences.

A `Topic` has the committed messages as senders and readers recorded them: one map from sequence to identity, so there
is one order for all. Readers know the message of a sender killed between its commit and its record. The counter in
shared memory shows that no message is missing: it must equal the number of known messages.

Journals are numpy arrays of 48 bytes a reception, so that hours of them fit into memory.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy

from storm import journal
from storm.bodies import ANONYMOUS, POISON, sender_of
from storm.journal import CHANGED, Kind

MOST_UNNOTED = 24  # counters of a killed process beyond its last record: a batch of twelve with step two
_SHIFT = numpy.uint64(32)
_POISON = numpy.uint64(POISON)
_ANONYMOUS = numpy.uint64(ANONYMOUS)
Faults = list[str]


@dataclass(frozen=True)
class Claim:
    title: str
    passed: bool
    detail: str


def judge(title: str, faults: Faults, detail: str) -> Claim:
    """Return a claim. A failed one shows its first counter-examples."""
    if not faults:
        return Claim(title, True, detail)
    more = f" … and {len(faults) - 3} more" if len(faults) > 3 else ""
    return Claim(title, False, "; ".join(faults[:3]) + more)


# Evidence


@dataclass
class Life:
    """One process: its journal and its end."""

    name: str  # of its role
    life: int
    code: int
    killed: bool
    records: Any  # array of journal.RECORD
    started_ns: int = 0
    ended_ns: int = 0
    error: str = ""

    def where(self, kind: Kind, topic: int | None = None) -> Any:
        chosen = self.records["kind"] == kind
        return chosen if topic is None else chosen & (self.records["topic"] == topic)

    def of(self, kind: Kind, topic: int | None = None) -> Any:
        return self.records[self.where(kind, topic)]

    def count(self, kind: Kind) -> int:
        return int((self.records["kind"] == kind).sum())

    def __str__(self) -> str:
        return f"{self.name} {self.life}"

    @cached_property
    def readings(self) -> "dict[int, Reading]":
        """Readings by topic."""
        started = self.of(Kind.STARTED)["topic"]
        return {topic: Reading(self, topic) for topic in sorted(set(started.tolist()))}


class Reading:
    """One topic as one process read it. Receptions are selected on demand, not stored again."""

    def __init__(self, life: Life, topic: int) -> None:
        self.life, self.topic = life, topic
        self.start = life.of(Kind.STARTED, topic)[0]
        self.counted = life.of(Kind.COUNTED, topic)
        self.corrupt = life.of(Kind.CORRUPT, topic)
        self.ended = bool(life.where(Kind.ENDED, topic).any())

    def __str__(self) -> str:
        return str(self.life)

    def column(self, name: str) -> Any:
        """Return a column of its receptions."""
        return self.life.records[name][self.life.where(Kind.RECEIVED, self.topic)]

    @property
    def seqs(self) -> Any:
        return self.column("a").astype(numpy.int64)

    @property
    def receptions(self) -> int:
        return int(self.life.where(Kind.RECEIVED, self.topic).sum())

    @property
    def begin(self) -> int:
        return int(self.start["a"])

    @property
    def last(self) -> Any:
        """The last account."""
        return self.counted[-1] if len(self.counted) else self.start

    @property
    def end(self) -> int:
        """The position: each message before it was received, lost or filtered."""
        seqs = self.seqs
        return max(int(seqs[-1]) + 1 if len(seqs) else self.begin, int(self.last["a"]))

    @property
    def positions(self) -> Any:
        return self.counted["a"].astype(numpy.int64)

    @property
    def told(self) -> Any:
        """received + lost + filtered since the start, at every account."""
        return sum(_less(self.counted[name], self.start[name]) for name in "bcd")

    @property
    def lost(self) -> Any:
        return _less(self.counted["c"], self.start["c"])

    def row_faults(self) -> Faults:
        """Check at every account that the counter of received messages equals the journal."""
        received = numpy.cumsum(self.life.where(Kind.RECEIVED, self.topic))
        rows = received[self.life.where(Kind.COUNTED, self.topic)]
        wrong = rows != _less(self.counted["b"], self.start["b"])
        if len(self.corrupt) or not wrong.any():
            return []
        at = int(numpy.flatnonzero(wrong)[0])
        return [f"{self} counted {self.counted['b'][at]:,} received, its journal has {rows[at]:,}"]


def _less(values: Any, start: Any) -> Any:
    return values.astype(numpy.int64) - int(start)


def lives(work: Path) -> list[Life]:
    """Return the processes in the work directory of a supervisor, in the order of their start."""
    found = []
    for line in (work / "lives.jsonl").read_text().splitlines():
        told = json.loads(line)
        found.append(Life(records=journal.load(work / "journals" / told.pop("journal")), **told))
    return sorted(found, key=lambda life: life.life)


def written_out(records: Any) -> Any:
    """Return the identities of SENT or REFUSED records, with each message of a batch."""
    count, step = records["c"].astype(numpy.int64), numpy.maximum(records["d"], 1)
    count = numpy.maximum(count, 1)
    back = numpy.repeat(numpy.cumsum(count), count) - numpy.arange(count.sum()) - 1
    return numpy.repeat(records["b"], count) - back.astype(numpy.uint64) * numpy.repeat(step, count)


class Topic:
    def __init__(self, name: str, number: int, tail: int, lives: Iterable[Life]) -> None:
        self.name, self.number, self.tail = name, number, tail
        self.lives = [life for life in lives if (life.records["topic"] == number).any()]
        highest = max((int(seqs.max()) for _, seqs, _ in self._witnesses() if len(seqs)), default=-1)
        size = max(tail, highest + 1)
        self.identities = numpy.zeros(size, dtype=numpy.uint64)  # by sequence; 0: no known message
        self.seen = numpy.zeros(size, dtype=bool)  # by a reader
        self.contradictions: Faults = []
        for life, seqs, identities in self._witnesses():
            self.add(str(life), seqs, identities)
        for _, seqs, _ in self._witnesses((Kind.RECEIVED,)):
            self.seen[seqs] = True
        self._upto = numpy.zeros(size + 1, dtype=numpy.int64)
        numpy.cumsum(self.identities != 0, out=self._upto[1:])

    def _witnesses(
        self, kinds: tuple[Kind, ...] = (Kind.SENT, Kind.RECEIVED)
    ) -> Iterator[tuple[Life, Any, Any]]:
        """Yield process, sequences and identities, senders before readers."""
        for kind in kinds:
            for life in self.lives:
                chosen = life.where(kind, self.number)
                yield life, life.records["a"][chosen].astype(numpy.int64), life.records["b"][chosen]

    def add(self, who: str, seqs: Any, identities: Any) -> None:
        """Add the messages of one process. They must agree with those known already."""
        beyond = seqs >= self.tail
        self.contradictions += [
            f"{who}: {self.name} {seq} is beyond its end {self.tail}" for seq in seqs[beyond][:3]
        ]
        seqs, identities = seqs[seqs < len(self.identities)], identities[seqs < len(self.identities)]
        there = self.identities[seqs]
        anonymous = identities & _ANONYMOUS == _ANONYMOUS
        same_sender = there >> _SHIFT == identities >> _SHIFT
        wrong = (there != 0) & (there != identities) & ~(anonymous & same_sender)
        for seq, found, other in list(zip(seqs[wrong], there[wrong], identities[wrong], strict=True))[:3]:
            self.contradictions.append(f"{self.name} {seq} is {found:#x} to one, {other:#x} to {who}")
        new = there == 0
        self.identities[seqs[new]] = identities[new]

    @property
    def known(self) -> int:
        return int(self._upto[-1])

    def between(self, first: Any, end: Any) -> Any:
        """Return the number of known messages in the range."""
        return self._upto[numpy.minimum(end, len(self._upto) - 1)] - self._upto[first]

    def sequences(self, first: int, end: int) -> Any:
        return numpy.flatnonzero(self.identities[first:end]) + first

    @cached_property
    def readings(self) -> list[Reading]:
        return [life.readings[self.number] for life in self.lives if self.number in life.readings]

    def of(self, *names: str) -> list[Reading]:
        return [reading for reading in self.readings if reading.life.name in names]


# Checks


def died(lives: Iterable[Life]) -> Faults:
    """Find processes that failed without being killed."""
    said = [(life, life.error or "reported nothing") for life in lives if life.code and not life.killed]
    return [f"{life} ended with {life.code}: {error}" for life, error in said]


def unknown(topic: Topic, stats: dict[str, Any]) -> Faults:
    """Find differences between the counters of the bus and the journals. The other checks rely on this one."""
    faults = []
    if topic.known != stats["published"]:
        faults.append(f"{topic.name}: {topic.known:,} in the journals, {stats['published']:,} published")
    if stats["tail"] != stats["published"] + stats["abandoned"]:
        counted = f"{stats['published']:,} + {stats['abandoned']:,} abandoned"
        faults.append(f"{topic.name}: tail {stats['tail']:,} is not {counted}")
    return faults


def corrupt(topic: Topic) -> Faults:
    """Find bodies that differ from those sent."""
    faults: Faults = []
    for life in topic.lives:
        for row in life.of(Kind.CORRUPT, topic.number)[:3]:
            how = "changed while it was held" if row["c"] == CHANGED else "arrived torn"
            faults.append(f"{life}: {topic.name} {row['a']} {how}")
    return faults


def uncommitted(topic: Topic, lives: list[Life], most_unnoted: int = MOST_UNNOTED) -> Faults:
    """Find received messages that were aborted or never sent.

    A process that ended in order sent only the messages of its journal, a killed one at most a few more. lives: all
    processes of the run.
    """
    faults: Faults = []
    senders = {life.life: life for life in lives}
    known = topic.identities[topic.identities != 0]
    for seq in numpy.flatnonzero(topic.identities & _POISON)[:3]:
        faults.append(f"{topic.name} {seq} was seen and never committed")
    known = known[known & _POISON == 0]
    order = numpy.argsort(known >> _SHIFT, kind="stable")
    known = known[order]
    numbers, begins = numpy.unique(known >> _SHIFT, return_index=True)
    for number, of_it in zip(numbers.tolist(), numpy.split(known, begins[1:]), strict=False):
        life = senders.get(number)
        if life is None:
            faults.append(f"{topic.name}: {len(of_it)} messages come from nobody ({number})")
            continue
        aborted = life.of(Kind.ABORTED, topic.number)["b"]
        if numpy.isin(of_it, aborted).any():
            faults.append(f"{life}: an aborted message was seen on {topic.name}")
        noted = numpy.concatenate(
            [written_out(life.of(kind, topic.number)) for kind in (Kind.SENT, Kind.REFUSED)] + [aborted]
        )
        named = of_it[of_it & _ANONYMOUS != _ANONYMOUS]
        extra = named[~numpy.isin(named, noted)]
        if len(extra) and not life.killed:
            faults.append(
                f"{life} never sent its {sender_of(int(extra[0]))[1]} that was seen on {topic.name}"
            )
        last = sender_of(int(noted.max()))[1] if len(noted) else 0
        if len(extra) and sender_of(int(extra.max()))[1] > last + most_unnoted:
            faults.append(
                f"{life}: {sender_of(int(extra.max()))[1]} was seen on {topic.name} before it was sent"
            )
    return faults


def disorder(topic: Topic) -> Faults:
    """Find readers that went back, and senders whose counters do not rise with the sequence."""
    faults = [f"{r} went back on {topic.name}" for r in topic.readings if (numpy.diff(r.seqs) <= 0).any()]
    seqs = topic.sequences(0, len(topic.identities))
    known = topic.identities[seqs] & ~_POISON
    named = known & _ANONYMOUS != _ANONYMOUS
    seqs, known = seqs[named], known[named]
    order = numpy.argsort(known >> _SHIFT, kind="stable")
    wrong = numpy.flatnonzero(numpy.diff(known[order].astype(numpy.int64)) <= 0)
    for at in wrong[:3]:
        seq = seqs[order][at + 1]
        faults.append(
            f"{topic.name} {seq}: messages of sender {known[order][at + 1] >> _SHIFT} changed places"
        )
    return faults


def unreceived(topic: Topic) -> Faults:
    """Find sent messages that no reader received, on a topic with a permanent reliable reader."""
    faults: Faults = []
    seen = numpy.sort(topic.identities[topic.seen])
    for life in topic.lives:
        sent = written_out(life.of(Kind.SENT, topic.number))
        at = numpy.minimum(numpy.searchsorted(seen, sent), max(len(seen) - 1, 0))
        missing = int((seen[at] != sent).sum()) if len(seen) else len(sent)
        if missing > 0:
            faults.append(f"{missing} messages that {life} sent on {topic.name} were never received")
    return faults


Wanted = Callable[[Reading, Any], Any]  # (reading, identities) -> mask of the identities it subscribes to


def gaps(topic: Topic, readings: Iterable[Reading], wanted: Wanted | None = None) -> Faults:
    """Find messages that reliable readers missed between start and end; to the tail after an orderly end."""
    faults: Faults = []
    for reading in readings:
        expected = topic.sequences(reading.begin, topic.tail if reading.ended else reading.end)
        if wanted is not None:
            expected = expected[wanted(reading, topic.identities[expected])]
        seqs, counted = reading.seqs, int(reading.last["c"])
        if not numpy.array_equal(seqs, expected) and not len(reading.corrupt):
            missed = len(numpy.setdiff1d(expected, seqs))
            has = f"{len(seqs):,} of {len(expected):,} messages of {topic.name}"
            faults.append(f"{reading} has a gap: {has}, {missed} missed, {counted} counted as lost")
        elif counted:
            faults.append(f"{reading} counted a loss of {counted} on {topic.name}")
    return faults


def uncounted(
    topic: Topic, readings: Iterable[Reading], exact: bool = True, conflating: bool = False
) -> Faults:
    """Check at every account: received + lost + filtered = committed.

    exact=False: not every committed message is known. Then the difference of two accounts must lie between the number
    of known messages and the number of sequences. An account of a conflating reader may be too small for a moment: the
    reader passes open claims and counts them when they are settled. Its later accounts are exact.
    """
    faults: Faults = []
    for reading in readings:
        told, positions = reading.told, reading.positions
        if exact:
            low = high = topic.between(reading.begin, positions)
            wrong = told != low
        else:
            at = numpy.concatenate([[reading.begin], positions])
            steps = numpy.diff(numpy.concatenate([[0], told]))
            low, high = topic.between(at[:-1], at[1:]), numpy.diff(at)
            wrong, told = (steps < low) | (steps > high), steps
        if conflating and exact:
            right = numpy.flatnonzero(~wrong)
            last = len(told) if reading.life.killed else right[-1] if len(right) else -1
            wrong &= ~((told < low) & (numpy.arange(len(told)) < last))
        for at in numpy.flatnonzero(wrong)[:1]:
            counts = f"{told[at]:,} of {low[at]:,}" + ("" if exact else f" to {high[at]:,}")
            lost = f"{reading.lost[at]:,} counted as lost"
            faults.append(f"{reading} accounts for {counts} up to {positions[at]:,} on {topic.name}, {lost}")
        faults += reading.row_faults()
    return faults


def unfinished(topic: Topic, readings: Iterable[Reading], published: int | None = None) -> Faults:
    """Find readers that ended in order before the tail.

    published: they must also account for all messages since their start, which holds without a complete journal, too.
    """
    faults: Faults = []
    for reading in (reading for reading in readings if reading.ended):
        if int(reading.last["a"]) != topic.tail:
            faults.append(
                f"{reading} ended at {reading.last['a']:,}, not at the tail {topic.tail:,} of {topic.name}"
            )
        if published is not None:
            told, committed = int(reading.told[-1]), published - int(topic.between(0, reading.begin))
            if told != committed:
                faults.append(f"{reading} accounts for {told:,} of {committed:,} messages of {topic.name}")
    return faults


def cursor_faults(topic: Topic, readings: list[Reading]) -> Faults:
    """Check that each owner of a cursor continues at a position the previous one committed or was committing."""
    faults: Faults = []
    allowed: set[int] = set()
    for reading in readings:
        if allowed and reading.begin not in allowed:
            faults.append(f"{reading} began at {reading.begin} of {topic.name}, not in {sorted(allowed)}")
        allowed = allowed or {reading.begin}
        seqs = reading.seqs
        if not numpy.array_equal(seqs, topic.sequences(reading.begin, reading.end)[: len(seqs)]):
            faults.append(f"{reading} has a gap on {topic.name}")
        records = reading.life.records
        for row in records[numpy.isin(records["kind"], (Kind.COMMITTING, Kind.COMMITTED))]:
            at = int(row["a"])
            allowed = {at} if row["kind"] == Kind.COMMITTED else allowed | {at}
    return faults


def read_again(topic: Topic, readings: list[Reading]) -> int:
    """Return the number of messages that owners of a cursor received more than once across kills."""
    reached = again = 0
    for reading in readings:
        again += int(topic.between(reading.begin, max(reached, reading.begin)))
        reached = max(reached, reading.end)
    return again
