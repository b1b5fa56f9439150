# SPDX-License-Identifier: Apache-2.0
"""What was committed at each sequence of a topic, as publishers and readers together say; every contradiction is kept.

A publisher that was killed between its send and its note is known from its readers; the others of a batch too.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy
from demo.journal import Kind

from soak.bodies import ANONYMOUS
from soak.journals import Life

_COUNTER = numpy.uint64(0xFFFFFFFF)
_INCARNATION_SHIFT = numpy.uint64(32)


@dataclass
class Truth:
    topic: int
    tail: int
    identities: Any  # by sequence; 0: nothing known was committed there
    contradictions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.upto = numpy.zeros(self.tail + 1, dtype=numpy.int64)

    def count(self) -> None:
        numpy.cumsum(self.identities != 0, out=self.upto[1:])

    @property
    def known(self) -> int:
        return int(self.upto[-1])

    def between(self, first: Any, end: Any) -> Any:
        """How many committed messages are known there."""
        return self.upto[end] - self.upto[first]

    def sequences(self, first: int, end: int) -> Any:
        return numpy.flatnonzero(self.identities[first:end]) + first

    def say(self, who: str, seqs: Any, identities: Any) -> None:
        """A witness: where nothing is known it is believed, elsewhere it has to agree."""
        if len(seqs) == 0:
            return
        if int(seqs.max()) >= self.tail:
            self.contradictions.append(f"{who}: sequence {int(seqs.max())} is beyond the end {self.tail}")
            return
        there = self.identities[seqs]
        anonymous = identities & _COUNTER == ANONYMOUS
        same_sender = there >> _INCARNATION_SHIFT == identities >> _INCARNATION_SHIFT
        wrong = (there != 0) & (there != identities) & ~(anonymous & same_sender)
        self.contradictions += [f"{who}: sequence {int(seq)} is another's" for seq in seqs[wrong][:3]]
        new = there == 0
        self.identities[seqs[new]] = identities[new]


def find(topic: int, tail: int, lives: list[Life]) -> Truth:
    truth = Truth(topic, tail, numpy.zeros(tail, dtype=numpy.uint64))
    mine = [life for life in lives if life.topic == topic]
    for life in mine:
        sent = life.of(Kind.SENT)
        truth.say(life.seat, sent["a"].astype(numpy.int64), sent["b"])
    for life in mine:
        got = life.of(Kind.GOT)
        truth.say(life.seat, got["a"].astype(numpy.int64), got["b"])
    truth.count()
    return truth
