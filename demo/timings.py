# SPDX-License-Identifier: Apache-2.0
"""How fast and how steadily: pure functions from evidence to rates, latencies, losses over time and pauses.

The pause of a survivor at a kill is the time between its last sign of life before and its first one after
the kill, beyond the period it shows signs of life in anyway. A survivor that was itself paused then, or
whose feeds were all away, tells nothing about the kill and is not asked.
"""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from demo import cast
from demo.evidence import Evidence, Story

_RESUMING_NS = 50_000_000  # a resumed process needs a moment to be seen running again
LATENCY_FROM = {
    "camera": ("recorder",),
    "imu": ("balance",),
    "lidar": ("viewer",),
    "commands": ("actuator",),
    "chat": ("ann", "bob", "cyd"),
}
PERCENTILES = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True)
class Pause:
    seat: str
    victim: str
    pause_s: float


def signs_of_life(story: Story) -> Sequence[int]:
    """Instants, ascending: what the seat is there for."""
    seat = cast.SEATS[story.seat]
    if story.sent:
        return [row[0] for row in story.sent[seat.topics[0]]]
    if seat.role == "actuator":
        return [row[0] for row in story.handled]
    if seat.role == "monitor":
        return sorted(count.time_ns for reading in story.readings.values() for count in reading.counts)
    reading = story.readings.get(seat.topics[0])
    return reading.got_ns if reading else ()


class _Stage:
    """Who was up when."""

    def __init__(self, evidence: Evidence) -> None:
        self.lives = [(story, signs_of_life(story)) for story in evidence.stories]
        self._pauses = [strike for strike in evidence.strikes if strike.kind == "pause"]

    def paused(self, seat: str, begin: int, end: int) -> bool:
        return any(
            strike.seat == seat and strike.at_ns < end and strike.until_ns + _RESUMING_NS > begin
            for strike in self._pauses
        )

    def up(self, seat: str, begin: int, end: int) -> bool:
        """It lived, ran and had begun its work in all of the time."""
        return not self.paused(seat, begin, end) and any(
            story.seat == seat and signs and signs[0] <= begin and story.ended_ns >= end
            for story, signs in self.lives
        )


def _pauses_at(stage: _Stage, victim: str, at_ns: int) -> Iterator[Pause]:
    for story, signs in stage.lives:
        seat = cast.SEATS[story.seat]
        if story.seat == victim or not signs or not signs[0] < at_ns < story.ended_ns:
            continue
        after = bisect_right(signs, at_ns)
        begin, end = signs[after - 1], signs[after] if after < len(signs) else story.ended_ns
        feeds_up = not seat.feeds or any(stage.up(feed, begin, end) for feed in seat.feeds)
        if feeds_up and not stage.paused(story.seat, begin, end):
            yield Pause(story.seat, victim, max(0.0, (end - begin) / 1e9 - seat.period_s))


def survivor_pauses(evidence: Evidence) -> list[Pause]:
    stage = _Stage(evidence)
    return [pause for kill in evidence.kills for pause in _pauses_at(stage, kill.seat, kill.at_ns)]


def quiet_pauses(evidence: Evidence) -> list[Pause]:
    """The same, half-way between strikes: what the machine does to a process that nobody disturbs."""
    stage = _Stage(evidence)
    instants = sorted(strike.at_ns for strike in evidence.strikes)
    quiet = [(a + b) // 2 for a, b in pairwise(instants)]
    return [pause for at_ns in quiet for pause in _pauses_at(stage, "", at_ns)]


def latencies_us(evidence: Evidence, topic: str) -> "array[float]":
    """Send to receive, sorted."""
    found = array("d")
    for seat in LATENCY_FROM[topic]:
        for story in evidence.of(seat):
            reading = story.readings.get(topic)
            if reading is not None:
                pairs = zip(reading.sent_ns, reading.got_ns, strict=True)
                found.extend((got - sent) / 1e3 for sent, got in pairs)
    return array("d", sorted(found))


def percentile(ordered: Sequence[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def rates(evidence: Evidence, topic: str, bin_s: float) -> list[float]:
    """Messages a second in each bin of the run, by the time they were sent, as the recorder read them."""
    span_s = (evidence.ended_ns - evidence.began_ns) / 1e9
    bins = [0] * max(1, int(span_s / bin_s))
    for story in evidence.of("recorder"):
        for sent in story.readings[topic].sent_ns if topic in story.readings else ():
            index = math.floor((sent - evidence.began_ns) / 1e9 / bin_s)
            if 0 <= index < len(bins):
                bins[index] += 1
    return [count / bin_s for count in bins]


def losses(evidence: Evidence, seat: str, points: int = 400) -> list[tuple[float, int, int]]:
    """(seconds, received, lost) so far, over all lives of a reader of one topic."""
    rows, received, lost = [(0.0, 0, 0)], 0, 0
    for story in evidence.of(seat):
        for count in (count for reading in story.readings.values() for count in reading.counts):
            seconds = (count.time_ns - evidence.began_ns) / 1e9
            rows.append((seconds, received + count.received, lost + count.lost))
        _, received, lost = rows[-1]
    step = max(1, len(rows) // points)
    return rows[::step] + rows[-1:]


def longest_silence_ms(times_ns: Sequence[int], begin_ns: int, end_ns: int) -> float:
    """The longest time without a message."""
    inside = times_ns[bisect_left(times_ns, begin_ns) : bisect_right(times_ns, end_ns)]
    return max((b - a for a, b in pairwise([begin_ns, *inside, end_ns])), default=0) / 1e6


def silence_ms(evidence: Evidence) -> float:
    """The longest time in which the recorder got nothing at all."""
    times = sorted(
        got for story in evidence.of("recorder") for r in story.readings.values() for got in r.got_ns
    )
    return longest_silence_ms(times, evidence.began_ns, evidence.ended_ns)


def returns_ms(evidence: Evidence) -> list[float]:
    """From each kill to the first sign of life of the successor, if it lived to show one; sorted."""
    found = []
    for kill in evidence.kills:
        successor = next((s for s in evidence.of(kill.seat) if s.incarnation > kill.incarnation), None)
        signs = signs_of_life(successor) if successor else ()
        if signs:
            found.append((signs[0] - kill.at_ns) / 1e6)
    return sorted(found)
