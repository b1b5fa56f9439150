# SPDX-License-Identifier: Apache-2.0
"""What a claim is, and the claims about delivery: each a pure function of the evidence.

A claim fails with the first few counter-examples named; it never raises because of what it finds.
"""

from dataclasses import dataclass
from itertools import pairwise

from demo import bodies, cast
from demo.evidence import Count, Evidence, Reading, Story
from demo.truth import Truth

Truths = dict[str, Truth]
_RELIABLE = [name for name, topic in cast.TOPICS.items() if topic.settings.get("delivery") == "reliable"]


@dataclass(frozen=True)
class Claim:
    title: str
    passed: bool
    detail: str


def judge(title: str, faults: list[str], detail: str) -> Claim:
    if not faults:
        return Claim(title, True, detail)
    more = f" … and {len(faults) - 3} more" if len(faults) > 3 else ""
    return Claim(title, False, "; ".join(faults[:3]) + more)


def every_message_is_known(evidence: Evidence, truths: Truths) -> Claim:
    """Without this the other claims would prove less than they say."""
    faults = []
    for topic, end in evidence.topics.items():
        known = len(truths[topic].seqs)
        if known != end.published:
            faults.append(f"{topic}: {known:,} in the journals, {end.published:,} published")
        if end.tail != end.published + end.abandoned:
            faults.append(
                f"{topic}: tail {end.tail:,} is not {end.published:,} + {end.abandoned:,} abandoned"
            )
    detail = ", ".join(f"{topic} {len(truths[topic].seqs):,}" for topic in evidence.topics)
    return judge("Every committed message is in the journals", faults, detail)


def every_command_was_handled(evidence: Evidence, truths: Truths) -> Claim:
    handled = [seq for story in evidence.stories for _, seq in story.handled]
    commands = truths["commands"].seqs
    missing = sorted(set(commands) - set(handled))
    faults = [f"command {seq} was never handled" for seq in missing]
    faults += [f"{seq} was handled and never sent" for seq in sorted(set(handled) - set(commands))]
    again = len(handled) - len(set(handled))
    detail = f"{len(commands):,} of {len(commands):,}; {again} handled again after a kill"
    return judge("Every committed command was handled", faults, detail)


def commands_came_in_order(evidence: Evidence, truths: Truths) -> Claim:
    """One incarnation goes on exactly where the cursor was committed, and skips nothing."""
    faults: list[str] = []
    again, done, place = 0, 0, {seq: index for index, seq in enumerate(truths["commands"].seqs)}
    for story in evidence.stories:
        for _, seq in story.handled:
            index = place.get(seq, -1)
            if index > done:
                faults.append(f"{story.seat} {story.incarnation} skipped to {seq}")
            again += index < done
            done = max(done, index + 1)
    faults += _handled_after_commit(evidence)
    lives = sum(bool(story.handled) for story in evidence.stories)
    detail = f"{lives} incarnations in turn, {again} repeated, none after its commit"
    return judge("Commands came in order; none again once committed", faults, detail)


def _handled_after_commit(evidence: Evidence) -> list[str]:
    faults, committed = [], 0
    for story in evidence.stories:
        faults += [f"{seq} again, after commit {committed}" for _, seq in story.handled if seq < committed]
        committed = max([committed, *(position for _, position in story.committed)])
    return faults


def _told(reading: Reading, count: Count) -> int:
    start = reading.start
    return count.received + count.lost + count.filtered - start.received - start.lost - start.filtered


def _is_exact(story: Story, reading: Reading, count: Count, committed: int) -> bool:
    """A conflating reader jumps ahead of sends under way; what lies there is counted when they are over."""
    told = _told(reading, count)
    under_way = cast.SEATS[story.seat].conflates and not (reading.done and count == reading.counts[-1])
    return told == committed or (under_way and told < committed)


def _account_faults(story: Story, topic: str, reading: Reading, truth: Truth) -> list[str]:
    who, faults = f"{story.seat} {story.incarnation} on {topic}", []
    for count in reading.counts:
        committed = truth.committed_between(reading.start.position, count.position)
        if not _is_exact(story, reading, count, committed):
            told = _told(reading, count)
            faults.append(f"{who}: accounts for {told:,} of {committed:,} up to {count.position:,}")
        if count.rows != count.received - reading.start.received and not reading.corrupt:
            faults.append(f"{who}: counted {count.received:,} received, wrote down {count.rows:,}")
    return faults


def accounts_are_exact(evidence: Evidence, truths: Truths) -> Claim:
    faults: list[str] = []
    accounts = received = lost = filtered = 0
    for story, topic, reading in evidence.readings():
        faults += _account_faults(story, topic, reading, truths[topic])
        last = reading.counts[-1] if reading.counts else reading.start
        if reading.done and last.position != evidence.topics[topic].tail:
            faults.append(f"{story.seat} on {topic} ended at {last.position:,}, not at the tail")
        accounts += len(reading.counts)
        received, lost, filtered = received + last.received, lost + last.lost, filtered + last.filtered
    readings = len(evidence.readings())
    detail = f"{received:,} + {lost:,} + {filtered:,}; {accounts:,} accounts of {readings} readings"
    return judge("received + lost + filtered = committed, every reader", faults, detail)


def reliable_readers_lost_nothing(evidence: Evidence, truths: Truths) -> Claim:
    faults, lives, messages = [], 0, 0
    for story, topic, reading in evidence.readings():
        if topic not in _RELIABLE or cast.SEATS[story.seat].role not in ("member", "actuator"):
            continue
        lives, messages = lives + 1, messages + len(reading.seqs)
        last = reading.counts[-1] if reading.counts else reading.start
        wanted = {
            seq
            for seq, identity in truths[topic].identities.items()
            if reading.start.position <= seq < last.position
            and bodies.sender_of(identity)[0] != story.incarnation
        }
        missing = wanted - set(reading.seqs)
        if last.lost or missing:
            faults.append(f"{story.seat} {story.incarnation} missed {len(missing)}, counted {last.lost} lost")
    detail = f"{messages:,} messages to {lives} incarnations"
    return judge("Reliable readers lost nothing while they lived", faults, detail)


def one_order_for_all(evidence: Evidence, truths: Truths) -> Claim:
    faults = [fault for truth in truths.values() for fault in truth.contradictions]
    for story, topic, reading in evidence.readings():
        if any(a >= b for a, b in pairwise(reading.seqs)):
            faults.append(f"{story.seat} {story.incarnation} went back on {topic}")
    for topic, truth in truths.items():
        latest: dict[int, int] = {}
        for seq in truth.seqs:
            incarnation, counter = bodies.sender_of(truth.identities[seq])
            if latest.get(incarnation, 0) >= counter:
                faults.append(f"{topic} {seq}: sender {incarnation} out of order")
            latest[incarnation] = counter
    messages = sum(len(reading.seqs) for _, _, reading in evidence.readings())
    return judge("All readers saw one order", faults, f"{messages:,} messages agree on who sent which")
