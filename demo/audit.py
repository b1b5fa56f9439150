# SPDX-License-Identifier: Apache-2.0
"""All claims about the evidence of a run, by the checks of storm.audit. Nothing here uses a bus or a process."""

from collections.abc import Callable, Iterable

import numpy

from demo import robot, timings
from demo.evidence import Evidence
from slipring.units import counted
from storm import audit
from storm.audit import Claim, Topic, judge
from storm.journal import Kind

_RELIABLE = [name for name, topic in robot.TOPICS.items() if topic.settings.get("delivery") == "reliable"]
_CONFLATING = [one.name for one in robot.COMPONENTS.values() if one.conflates]
_RELIABLE_READERS = [one.name for one in robot.COMPONENTS.values() if one.role in ("member", "actuator")]
_MOST_UNNOTED = 1  # a component sends one message a call


def only_the_killed_died(evidence: Evidence) -> Claim:
    pauses = len(evidence.strikes) - len(evidence.kills)
    detail = f"{len(evidence.kills)} SIGKILLs, {pauses} SIGSTOPs, {len(evidence.lives)} processes"
    return judge("Only killed processes died", audit.died(evidence.lives), detail)


def the_killed_came_back(evidence: Evidence) -> Claim:
    """Without this claim a robot that does nothing would pass."""
    last = {life.name: life for life in evidence.lives}
    faults = [f"{name} was not" for name, life in last.items() if not timings.signs_of_life(life)]
    silence_ms, returns = timings.silence_ms(evidence), timings.returns_ms(evidence)
    if silence_ms >= evidence.stalled_s * 1e3:
        faults.append(f"nothing was sent for {silence_ms / 1e3:.1f} s")
    median = timings.percentile(returns, 50)
    first = f"first action {median:.0f} ms after the kill (median)"
    detail = f"{first}; longest time without any message {silence_ms:.1f} ms"
    return judge("Every killed process was replaced", faults, detail)


def survivors_went_on(evidence: Evidence) -> Claim:
    pauses = timings.survivor_pauses(evidence)
    faults = [
        f"{pause.name} paused for {pause.pause_s:.1f} s at a kill"
        for pause in pauses
        if pause.pause_s >= evidence.stalled_s
    ]
    faults += [] if pauses else ["no pause was measured"]
    worst = max(pauses, key=lambda pause: pause.pause_s, default=None)
    longest = (
        f"longest of {len(pauses):,} pauses {worst.pause_s * 1e3:.1f} ms ({worst.name})" if worst else ""
    )
    quiet = max((pause.pause_s for pause in timings.quiet_pauses(evidence)), default=0.0)
    return judge(
        "The other processes continued at every kill",
        faults,
        f"{longest}; between signals {quiet * 1e3:.1f} ms",
    )


def every_message_is_known(evidence: Evidence) -> Claim:
    faults = [
        fault
        for name, end in evidence.ends.items()
        for fault in audit.unknown(evidence.topics[name], vars(end))
    ]
    detail = ", ".join(f"{name} {topic.known:,}" for name, topic in evidence.topics.items())
    return judge("Every committed message is in the journals", faults, detail)


def every_command_was_handled(evidence: Evidence) -> Claim:
    handled = [seq for life in evidence.lives for seq in timings.handled(life)]
    commands = _committed(evidence.topics["commands"])
    faults = [f"command {seq} was never handled" for seq in sorted(set(commands) - set(handled))]
    faults += [f"{seq} was handled and never sent" for seq in sorted(set(handled) - set(commands))]
    again = len(handled) - len(set(handled))
    detail = f"{len(commands):,} of {len(commands):,}; {again} handled again after a kill"
    return judge("Every committed command was handled", faults, detail)


def _committed(topic: Topic) -> list[int]:
    found: list[int] = topic.sequences(0, len(topic.identities)).tolist()
    return found


def commands_came_in_order(evidence: Evidence) -> Claim:
    """Each process continues exactly where the cursor was committed, and skips nothing."""
    topic = evidence.topics["commands"]
    faults: list[str] = []
    again, done, committed = 0, 0, 0
    place = {seq: index for index, seq in enumerate(_committed(topic))}
    for life in evidence.lives:
        for seq in timings.handled(life):
            index = place.get(seq, -1)
            if index > done:
                faults.append(f"{life} skipped to {seq}")
            if seq < committed:
                faults.append(f"{seq} again, after commit {committed}")
            again += index < done
            done = max(done, index + 1)
        commits = life.of(Kind.COMMITTED)["a"].astype(numpy.int64)
        committed = max(committed, int(commits.max(initial=0)))
    faults += audit.cursor_faults(topic, topic.of("actuator"))
    lives = sum(bool(timings.handled(life)) for life in evidence.lives)
    detail = (
        f"{lives} processes one after the other; {counted(again, 'command')} repeated, none after its commit"
    )
    return judge("Commands came in order, none again after its commit", faults, detail)


def accounts_are_exact(evidence: Evidence) -> Claim:
    faults: list[str] = []
    readings = evidence.readings()
    for topic in evidence.topics.values():
        conflating = topic.of(*_CONFLATING)
        others = [reading for reading in topic.readings if reading not in conflating]
        faults += audit.uncounted(topic, others) + audit.uncounted(topic, conflating, conflating=True)
        faults += audit.unfinished(topic, topic.readings)
    received, lost, filtered = (sum(int(reading.last[name]) for reading in readings) for name in "bcd")
    accounts = sum(len(reading.counted) for reading in readings)
    detail = (
        f"{received:,} + {lost:,} + {filtered:,}; checked {accounts:,} times for {len(readings)} subscribers"
    )
    return judge("received + lost + filtered = committed, for every reader", faults, detail)


def reliable_readers_lost_nothing(evidence: Evidence) -> Claim:
    faults, lives, messages = [], 0, 0
    for topic in (evidence.topics[name] for name in _RELIABLE):
        readings = topic.of(*_RELIABLE_READERS)
        faults += audit.gaps(
            topic, readings, lambda reading, who: who >> numpy.uint64(32) != reading.life.life
        )
        lives += len(readings)
        messages += sum(reading.receptions for reading in readings)
    detail = f"{messages:,} messages to {lives} processes"
    return judge("Reliable readers lost nothing while they lived", faults, detail)


def the_slow_reader_was_lapped(evidence: Evidence) -> Claim:
    """Without this claim the run would prove little about counted losses."""
    lasts = [r.last for life in evidence.of("logger") for r in life.readings.values() if len(r.counted)]
    received, lost = sum(int(last["b"]) for last in lasts), sum(int(last["c"]) for last in lasts)
    faults = [] if lost else ["it lost nothing in this run: the ring was too large or the time too short"]
    return judge(
        "The slow reader lost messages, and counted them", faults, f"{received:,} read, {lost:,} lost"
    )


def _in_all_topics(evidence: Evidence, check: Callable[[Topic], Iterable[str]]) -> list[str]:
    return [fault for topic in evidence.topics.values() for fault in check(topic)]


def one_order_for_all(evidence: Evidence) -> Claim:
    faults = _in_all_topics(evidence, lambda topic: [*topic.contradictions, *audit.disorder(topic)])
    messages = sum(reading.receptions for reading in evidence.readings())
    return judge(
        "All readers saw the same order",
        faults,
        f"{messages:,} messages: every reader got the same one at each sequence",
    )


def nothing_is_corrupt(evidence: Evidence) -> Claim:
    faults = _in_all_topics(evidence, audit.corrupt)
    checked = sum(reading.receptions for reading in evidence.readings())
    return judge(
        "No message is corrupt",
        faults,
        f"{checked:,} checksums are correct; those of viewed clouds also after 5 ms",
    )


def nothing_uncommitted_was_seen(evidence: Evidence) -> Claim:
    """Aborted loans are marked. No message was received before its sender began to send it."""
    faults = _in_all_topics(evidence, lambda topic: audit.uncommitted(topic, evidence.lives, _MOST_UNNOTED))
    aborted = sum(life.count(Kind.ABORTED) for life in evidence.lives)
    abandoned = sum(end.abandoned for end in evidence.ends.values())
    detail = f"{abandoned} sequences were abandoned ({aborted} loans aborted on purpose), none was seen"
    return judge("No uncommitted message was seen", faults, detail)


def the_doctor_finds_nothing(evidence: Evidence) -> Claim:
    cleared = ", ".join(evidence.cleared)
    detail = (
        f"after clearing {cleared}" if cleared else f"after {len(evidence.kills)} kills, nothing to clear"
    )
    return judge("The doctor finds no problem", evidence.findings, detail)


def nothing_is_left(evidence: Evidence) -> Claim:
    ended = f"{len(evidence.lives)} processes ended"
    return judge("No file and no process is left", evidence.left_over, ended)


def examine(evidence: Evidence) -> list[Claim]:
    return [
        only_the_killed_died(evidence),
        the_killed_came_back(evidence),
        survivors_went_on(evidence),
        every_message_is_known(evidence),
        every_command_was_handled(evidence),
        commands_came_in_order(evidence),
        accounts_are_exact(evidence),
        reliable_readers_lost_nothing(evidence),
        the_slow_reader_was_lapped(evidence),
        one_order_for_all(evidence),
        nothing_is_corrupt(evidence),
        nothing_uncommitted_was_seen(evidence),
        the_doctor_finds_nothing(evidence),
        nothing_is_left(evidence),
    ]
