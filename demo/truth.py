# SPDX-License-Identifier: Apache-2.0
"""What a topic carried: every committed sequence and whose message it is, as all witnesses together say.

Witnesses are the senders (a send that returned) and all readers. A sender killed between commit and journal
did not testify, but whoever read the message did. That nothing is missing is proved by the counter in
shared memory: as many messages as were published. Abandoned sequences (aborted loans, senders killed in the
middle) are in nobody's testimony.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from demo import cast
from demo.evidence import Evidence


@dataclass
class Truth:
    identities: dict[int, int]  # sequence: identity
    seqs: list[int]  # sorted
    contradictions: list[str]

    def committed_between(self, start: int, end: int) -> int:
        return bisect_left(self.seqs, end) - bisect_left(self.seqs, start)


def _testimonies(evidence: Evidence, topic: str) -> Iterator[tuple[str, int, int]]:
    for story in evidence.stories:
        for _, seq, identity in story.sent.get(topic, ()):
            yield story.seat, seq, identity
        reading = story.readings.get(topic)
        if reading is not None:
            for seq, identity in zip(reading.seqs, reading.identities, strict=True):
                yield story.seat, seq, identity


def find(evidence: Evidence, topic: str) -> Truth:
    identities: dict[int, int] = {}
    contradictions = []
    for seat, seq, identity in _testimonies(evidence, topic):
        found = identities.setdefault(seq, identity)
        if found != identity:
            contradictions.append(f"{topic} {seq} is {found:#x} to one, {identity:#x} to {seat}")
    return Truth(identities, sorted(identities), contradictions)


def find_all(evidence: Evidence) -> dict[str, Truth]:
    return {topic: find(evidence, topic) for topic in cast.TOPIC_NAMES}
