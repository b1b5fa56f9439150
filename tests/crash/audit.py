# SPDX-License-Identifier: Apache-2.0
"""Accounts for every message of a storm from the journals of all who took part; checks raise AssertionError.

`truth` maps every sequence that any reader received to (incarnation, counter): one map for all readers is
what "subsequences of one total order" means.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise

from crash import bodies
from crash import journal as jn
from crash.actors import MOST_IN_A_BATCH


@dataclass
class Sender:
    incarnation: int
    ended: bool  # in good order: then all it sent is reported
    sent: dict[int, int | None] = field(default_factory=dict)  # counter -> sequence where known
    maybe: set[int] = field(default_factory=set)
    aborted: int = 0


@dataclass
class Reading:
    name: str
    incarnation: int
    start: int | None = None
    rows: list[tuple[int, int, int, int]] = field(
        default_factory=list
    )  # sequence, incarnation, counter, lost
    commits: list[tuple[int, int]] = field(default_factory=list)  # kind, position
    end: tuple[int, int, int, int] | None = None  # received, lost, filtered, position

    @property
    def sequences(self) -> list[int]:
        return [row[0] for row in self.rows]


class Audit:
    def __init__(self, parts) -> None:
        self.senders: dict[int, Sender] = {}
        self.readings: dict[str, list[Reading]] = {}
        for part in parts:
            for incarnation, child, path in part.lives:
                records = jn.read(path) if path.exists() else []
                if part.publishes:
                    self.senders[incarnation] = _sender(incarnation, child.code == 0, records)
                self.readings.setdefault(part.name, []).append(_reading(part.name, incarnation, records))
        self.truth: dict[int, tuple[int, int]] = {}
        for reading in self.each():
            for sequence, incarnation, counter, _ in reading.rows:
                found = self.truth.setdefault(sequence, (incarnation, counter))
                assert found == (incarnation, counter), (
                    f"sequence {sequence} is {found} to one, {(incarnation, counter)} to {reading.name}"
                )
        self.known = sorted(self.truth)

    def each(self) -> list[Reading]:
        return [reading for readings in self.readings.values() for reading in readings]

    def nothing_is_corrupt_or_uncommitted(self) -> None:
        for sequence, (incarnation, counter) in self.truth.items():
            assert incarnation != bodies.TORN, f"sequence {sequence} arrived torn"
            assert incarnation != bodies.CHANGED, f"sequence {sequence} changed while it was held"
            assert not incarnation & bodies.POISON, f"sequence {sequence} was seen though never committed"
            assert incarnation in self.senders, f"sequence {sequence} comes from nobody ({incarnation})"
            sender = self.senders[incarnation]
            if counter not in sender.sent and counter not in sender.maybe:
                assert not sender.ended, f"sequence {sequence}: {incarnation} never sent its {counter}"
                last = max([*sender.sent, *sender.maybe], default=-1)
                assert counter <= last + sender.aborted + 2 * MOST_IN_A_BATCH, (
                    f"{incarnation} sent {counter}?"
                )

    def order_is_kept(self) -> None:
        """Every reader goes forward, and each publisher's counters rise with the sequence."""
        for reading in self.each():
            sequences = reading.sequences
            assert all(a < b for a, b in pairwise(sequences)), f"{reading.name} went back"
        last: dict[int, int] = {}
        for sequence in self.known:
            incarnation, counter = self.truth[sequence]
            assert last.get(incarnation, -1) < counter, f"{incarnation} reordered at sequence {sequence}"
            last[incarnation] = counter

    def sequences_are_as_reported(self) -> None:
        for sender in self.senders.values():
            for counter, sequence in sender.sent.items():
                if sequence is not None and sequence in self.truth:
                    assert self.truth[sequence] == (sender.incarnation, counter), f"sequence {sequence}"

    def witness_received_all_that_was_committed(self, name: str) -> None:
        """The reliable reader that was there from the beginning to the end."""
        (witness,) = self.readings[name]
        received = {(incarnation, counter) for _, incarnation, counter, _ in witness.rows}
        for sender in self.senders.values():
            missing = [c for c in sender.sent if (sender.incarnation, c) not in received]
            assert not missing, (
                f"{name} never received {missing[:5]} of {sender.incarnation} ({len(missing)} in all)"
            )
        assert len(witness.rows) == len(self.truth), f"others received what {name} did not"

    def reliable_reader_has_no_gaps(
        self, name: str, wanted=lambda reading, incarnation, counter: True
    ) -> None:
        """Between its start and its last message; to the end if it ended in good order. Needs a witness."""
        for reading in self.readings[name]:
            if reading.start is None or not reading.rows:
                continue
            begin = bisect_left(self.known, reading.start)
            end = len(self.known) if reading.end else bisect_left(self.known, reading.rows[-1][0]) + 1
            expected = [seq for seq in self.known[begin:end] if wanted(reading, *self.truth[seq])]
            assert reading.sequences == expected, f"{name} has a gap"
            assert all(row[3] in (0, jn.UNKNOWN) for row in reading.rows), f"{name} counted a loss"

    def gaps_are_counted(self, name: str) -> None:
        """A lossy reader counts for each gap at least the known messages, at most the sequences in it."""
        for reading in self.readings[name]:
            if reading.start is None:
                continue
            position, lost_before, taken = reading.start, 0, 0
            for sequence, _, _, lost in reading.rows:
                taken += 1
                if lost == jn.UNKNOWN:
                    continue
                counted, skipped = lost - lost_before, sequence + 1 - position - taken
                known = bisect_left(self.known, sequence + 1) - bisect_left(self.known, position) - taken
                assert known <= counted <= skipped, f"{name}: {counted} lost in {skipped}, {known} known"
                position, lost_before, taken = sequence + 1, lost, 0

    def account_is_exact(self, name: str, stats: dict) -> None:
        """received + lost + filtered = published since its start, for a reader that read to the end. A start
        later than 0 needs a witness, to know what was committed before it."""
        (reading,) = self.readings[name]
        received, lost, filtered, position = reading.end
        assert position == stats["tail"]
        assert received == len(reading.rows)
        committed = stats["published"] - bisect_left(self.known, reading.start)
        assert received + lost + filtered == committed, f"{name}: {reading.end} of {committed}, {stats}"

    def cursor_goes_on_where_it_committed(self, name: str) -> None:
        allowed: set[int] | None = None
        for reading in self.readings[name]:
            if allowed is not None and reading.start is not None:
                assert reading.start in allowed, f"{name} began at {reading.start}, not in {sorted(allowed)}"
            if reading.start is not None:
                self._no_gap_from(reading)
            if reading.start is not None and allowed is None:
                allowed = {reading.start}
            for kind, position in reading.commits:
                allowed = {position} if kind == jn.COMMIT else (allowed or set()) | {position}

    def _no_gap_from(self, reading: Reading) -> None:
        begin = bisect_left(self.known, reading.start)
        assert reading.sequences == self.known[begin : begin + len(reading.rows)], f"{reading.name} has a gap"

    @property
    def aborted(self) -> int:
        return sum(sender.aborted for sender in self.senders.values())


def _sender(incarnation: int, ended: bool, records: list[tuple]) -> Sender:
    sender = Sender(incarnation, ended)
    for kind, counter, sequence, count, _ in records:
        if kind == jn.SENT:
            sender.sent |= dict.fromkeys(range(counter - 2 * (count - 1), counter, 2))
            sender.sent[counter] = sequence
        elif kind == jn.MAYBE:
            sender.maybe |= set(range(counter - 2 * (count - 1), counter + 1, 2))
        elif kind == jn.ABORT:
            sender.aborted += 1
    return sender


def _reading(name: str, incarnation: int, records: list[tuple]) -> Reading:
    reading = Reading(name, incarnation)
    for kind, *values in records:
        if kind == jn.START:
            reading.start = values[0]
        elif kind == jn.GOT:
            reading.rows.append(tuple(values))
        elif kind in (jn.INTENT, jn.COMMIT):
            reading.commits.append((kind, values[0]))
        elif kind == jn.END:
            reading.end = tuple(values)
    return reading
