# SPDX-License-Identifier: Apache-2.0
"""Make claims about every message from the journals. The checks are those of storm.audit."""

from typing import Any

import numpy

from soak import plan
from storm import audit
from storm.audit import Claim, Life, Topic, judge
from storm.journal import Kind

Stats = dict[str, dict[str, Any]]


def topics_of(lives: list[Life], stats: Stats) -> list[Topic]:
    return [Topic(name, number, stats[name]["tail"], lives) for number, name in enumerate(plan.TOPICS)]


def only_the_killed_died(lives: list[Life], errors: str) -> Claim:
    faults = audit.died(lives)
    faults += [errors.strip().splitlines()[-1]] if errors.strip() else []
    return judge("Only killed processes died", faults, f"{len(lives):,} lives")


def every_message_is_known(topics: list[Topic], stats: Stats) -> Claim:
    faults = [fault for topic in topics for fault in audit.unknown(topic, stats[topic.name])]
    detail = ", ".join(f"{topic.name} {topic.known:,}" for topic in topics)
    return judge("Every committed message is in the journals", faults, detail)


def nothing_is_corrupt(lives: list[Life], topics: list[Topic]) -> Claim:
    faults = [fault for topic in topics for fault in topic.contradictions + audit.corrupt(topic)]
    checked = sum(life.count(Kind.RECEIVED) for life in lives)
    return judge("0 corrupt", faults, f"{checked:,} receptions: sequence, sender, type and checksum right")


def only_what_was_committed_was_seen(lives: list[Life], topics: list[Topic]) -> Claim:
    faults = [fault for topic in topics for fault in audit.uncommitted(topic, topic.lives)]
    aborted = sum(life.count(Kind.ABORTED) for life in lives)
    return judge("Nothing uncommitted was seen", faults, f"{aborted:,} loans aborted on purpose, none seen")


def order_is_kept(topics: list[Topic]) -> Claim:
    faults = [fault for topic in topics for fault in audit.disorder(topic)]
    return judge("One order for all, each sender's kept", faults, "")


def reliable_readers_lost_nothing(topic: Topic) -> Claim:
    faults = audit.unreceived(topic) + audit.gaps(topic, topic.readings)
    faults += audit.uncounted(topic, topic.readings) + audit.unfinished(topic, topic.readings)
    rows = sum(reading.receptions for reading in topic.readings)
    return judge("Reliable: 0 lost", faults, f"{topic.known:,} committed, {rows:,} receptions without a gap")


def the_cursor_missed_nothing(topic: Topic) -> Claim:
    readings = topic.of(plan.CURSOR_READER)
    faults = audit.cursor_faults(topic, readings)
    reached = max((reading.end for reading in readings), default=0)
    if reached < topic.tail and topic.between(reached, topic.tail):
        faults.append(f"it came to {reached} of {topic.tail}")
    again = audit.read_again(topic, readings)
    return judge(
        "The cursor's reader missed nothing across its kills", faults, f"{again:,} read again after a kill"
    )


def losses_are_counted(topic: Topic) -> Claim:
    conflating = topic.of(plan.CONFLATING)
    others = [reading for reading in topic.readings if reading not in conflating]
    faults = audit.uncounted(topic, others) + audit.uncounted(topic, conflating, conflating=True)
    faults += audit.unfinished(topic, topic.readings)
    total = sum(int(reading.last["c"]) for reading in topic.readings)
    checked = sum(len(reading.counted) for reading in topic.readings)
    detail = f"{total:,} lost and counted, {checked:,} accounts exact"
    return judge("Lossy: losses equal counted gaps", faults, detail)


def the_slow_one_lost_some(topic: Topic) -> Claim:
    """Require losses: without them the claim about counted losses proves little."""
    lost = sum(int(reading.counted["c"].max(initial=0)) for reading in topic.readings)
    faults = [] if lost else ["nobody lost anything: too short, or the ring too large"]
    return judge("There were losses to count", faults, f"{lost:,}")


def recording_adds_up(topics: list[Topic], stats: Stats, lake: dict[str, Any]) -> Claim:
    faults = list(lake["problems"])
    told = []
    for topic in topics:
        held, stat = lake["topics"][topic.name], stats[topic.name]
        if held["messages"] + held["lost"] != stat["published"] or held["abandoned"] != stat["abandoned"]:
            counts = {name: held[name] for name in ("messages", "lost", "abandoned")}
            faults.append(f"{topic.name}: {counts} of {stat['published']} and {stat['abandoned']} abandoned")
        offsets = held["offsets"].astype(numpy.int64)
        if len(offsets) != held["messages"] or (numpy.diff(offsets) <= 0).any():
            faults.append(f"{topic.name}: rows are missing or double")
        before = len(topic.contradictions)
        topic.add("the lake", offsets, held["identities"])
        faults += topic.contradictions[before:]
        if topic.name == "reliable" and held["lost"]:
            faults.append(f"{held['lost']} lost on the reliable topic")
        told.append(f"{topic.name} {held['messages']:,} + {held['lost']:,} in counted gaps")
    return judge("Published = recorded + counted gaps, every row right", faults, "; ".join(told))


def examine(lives: list[Life], topics: list[Topic], stats: Stats, errors: str) -> list[Claim]:
    lossy, reliable = topics[plan.LOSSY], topics[plan.RELIABLE]
    return [
        only_the_killed_died(lives, errors),
        every_message_is_known(topics, stats),
        nothing_is_corrupt(lives, topics),
        only_what_was_committed_was_seen(lives, topics),
        order_is_kept(topics),
        reliable_readers_lost_nothing(reliable),
        the_cursor_missed_nothing(reliable),
        losses_are_counted(lossy),
        the_slow_one_lost_some(lossy),
    ]
