# SPDX-License-Identifier: Apache-2.0
"""Pure functions from evidence to rates, latencies, losses over time and pauses.

The pause of another process at a kill is the time from its last action before the kill to its first action after it,
minus its own period. A process that was stopped then, or that had no running sender, is not counted.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy

from demo import robot
from demo.evidence import Evidence
from storm.audit import Life
from storm.journal import Kind

_RESUMING_NS = 50_000_000  # a resumed process needs a moment until its next action
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
    name: str
    victim: str
    pause_s: float


def handled(life: Life) -> list[int]:
    """Return the sequences of the commands that it carried out."""
    found: list[int] = life.of(Kind.HANDLED)["a"].tolist()
    return found


def signs_of_life(life: Life) -> Sequence[int]:
    """Return the times of its actions, ascending: messages sent, received or handled."""
    component = robot.COMPONENTS[life.name]
    topic = robot.TOPIC_NAMES.index(component.topics[0])
    sent = life.of(Kind.SENT, topic)
    if len(sent):
        found = sent["time_ns"]
    elif component.role == "actuator":
        found = life.of(Kind.HANDLED)["time_ns"]
    elif component.role == "monitor":
        found = numpy.sort(life.of(Kind.COUNTED)["time_ns"])
    elif component.only_publishes:
        found = sent["time_ns"]
    else:
        found = life.of(Kind.RECEIVED, topic)["time_ns"]
    times: list[int] = found.tolist()
    return times


class _Presence:
    """Which processes ran when."""

    def __init__(self, evidence: Evidence) -> None:
        self.lives = [(life, signs_of_life(life)) for life in evidence.lives]
        self._pauses = [strike for strike in evidence.strikes if strike.kind == "pause"]

    def paused(self, name: str, begin: int, end: int) -> bool:
        return any(
            strike.name == name and strike.at_ns < end and strike.until_ns + _RESUMING_NS > begin
            for strike in self._pauses
        )

    def up(self, name: str, begin: int, end: int) -> bool:
        """Whether it was working during all of that time."""
        return not self.paused(name, begin, end) and any(
            life.name == name and signs and signs[0] <= begin and life.ended_ns >= end
            for life, signs in self.lives
        )


def _pauses_at(presence: _Presence, victim: str, at_ns: int) -> Iterator[Pause]:
    for life, signs in presence.lives:
        component = robot.COMPONENTS[life.name]
        if life.name == victim or not signs or not signs[0] < at_ns < life.ended_ns:
            continue
        after = bisect_right(signs, at_ns)
        begin, end = signs[after - 1], signs[after] if after < len(signs) else life.ended_ns
        feeds_up = not component.feeds or any(presence.up(feed, begin, end) for feed in component.feeds)
        if feeds_up and not presence.paused(life.name, begin, end):
            yield Pause(life.name, victim, max(0.0, (end - begin) / 1e9 - component.period_s))


def survivor_pauses(evidence: Evidence) -> list[Pause]:
    presence = _Presence(evidence)
    return [pause for kill in evidence.kills for pause in _pauses_at(presence, kill.name, kill.at_ns)]


def quiet_pauses(evidence: Evidence) -> list[Pause]:
    """Return the same half-way between two signals: pauses that the scheduler of the machine causes."""
    presence = _Presence(evidence)
    instants = sorted(strike.at_ns for strike in evidence.strikes)
    quiet = [(a + b) // 2 for a, b in pairwise(instants)]
    return [pause for at_ns in quiet for pause in _pauses_at(presence, "", at_ns)]


def latencies_us(evidence: Evidence, topic: str) -> list[float]:
    """Return times from send to receive, sorted."""
    found = [
        (r.column("time_ns").astype(numpy.int64) - r.column("c").astype(numpy.int64)) / 1e3
        for r in evidence.readings(topic)
        if r.life.name in LATENCY_FROM[topic]
    ]
    ordered: list[float] = numpy.sort(numpy.concatenate(found)).tolist() if found else []
    return ordered


def percentile(ordered: Sequence[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def _sent_ns(evidence: Evidence, topic: str) -> list[int]:
    """Return when the messages of the run were sent, from the journal of the recorder."""
    found = [r.column("c").tolist() for r in evidence.readings(topic) if r.life.name == "recorder"]
    return [at for times in found for at in times if evidence.began_ns <= at < evidence.ended_ns]


def mean_rate(evidence: Evidence, topic: str) -> float:
    """Return messages a second over the whole run."""
    return len(_sent_ns(evidence, topic)) / ((evidence.ended_ns - evidence.began_ns) / 1e9)


def read_rate(evidence: Evidence, name: str) -> float:
    """Return messages a second read by all processes of a reader, over the whole run."""
    found = [life.of(Kind.RECEIVED)["time_ns"] for life in evidence.of(name)]
    inside = sum(int(((evidence.began_ns <= at) & (at < evidence.ended_ns)).sum()) for at in found)
    return inside / ((evidence.ended_ns - evidence.began_ns) / 1e9)


def rates(evidence: Evidence, topic: str, bin_s: float) -> list[float]:
    """Return messages a second in each bin of the run, by the time at which they were sent.

    All bins have the same width, about bin_s: a shorter last bin would appear as a drop.
    """
    span_s = (evidence.ended_ns - evidence.began_ns) / 1e9
    bins = [0] * max(1, round(span_s / bin_s))
    width_s = span_s / len(bins)
    for sent in _sent_ns(evidence, topic):
        bins[min(int((sent - evidence.began_ns) / 1e9 / width_s), len(bins) - 1)] += 1
    return [count / width_s for count in bins]


def losses(evidence: Evidence, name: str, points: int = 400) -> list[tuple[float, int, int]]:
    """Return (seconds, received, lost) so far, over all processes of a reader of one topic."""
    rows, received, lost = [(0.0, 0, 0)], 0, 0
    for life in evidence.of(name):
        for count in life.of(Kind.COUNTED):
            seconds = (int(count["time_ns"]) - evidence.began_ns) / 1e9
            rows.append((seconds, received + int(count["b"]), lost + int(count["c"])))
        _, received, lost = rows[-1]
    step = max(1, len(rows) // points)
    return rows[::step] + rows[-1:]


def longest_silence_ms(times_ns: Sequence[int], begin_ns: int, end_ns: int) -> float:
    """Return the longest time without a message."""
    inside = times_ns[bisect_left(times_ns, begin_ns) : bisect_right(times_ns, end_ns)]
    return max((b - a for a, b in pairwise([begin_ns, *inside, end_ns])), default=0) / 1e6


def silence_ms(evidence: Evidence) -> float:
    """Return the longest time in which the recorder received nothing."""
    times = sorted(
        time for life in evidence.of("recorder") for time in life.of(Kind.RECEIVED)["time_ns"].tolist()
    )
    return longest_silence_ms(times, evidence.began_ns, evidence.ended_ns)


def returns_ms(evidence: Evidence) -> list[float]:
    """Return times from each kill to the first action of the successor, if there was one; sorted."""
    found = []
    for kill in evidence.kills:
        successor = next((life for life in evidence.of(kill.name) if life.life > kill.life), None)
        signs = signs_of_life(successor) if successor else ()
        if signs:
            found.append((signs[0] - kill.at_ns) / 1e6)
    return sorted(found)
