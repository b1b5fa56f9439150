# SPDX-License-Identifier: Apache-2.0
"""Journals -> claims about every message. Pure functions; a claim names its first counter-examples."""

from typing import Any

import numpy
from demo.claims import Claim, judge
from demo.journal import Kind

from soak import cast
from soak.bodies import ANONYMOUS, POISON
from soak.journals import Life
from soak.truth import Truth

_SHIFT = numpy.uint64(32)


def only_the_killed_died(lives: list[Life], errors: str) -> Claim:
    faults = [
        f"{life.seat} {life.incarnation} ended with {life.code}"
        for life in lives
        if life.code and not life.killed
    ]
    faults += [errors.strip().splitlines()[-1]] if errors.strip() else []
    return judge("Nobody died but the killed", faults, f"{len(lives):,} lives")


def every_message_is_known(truths: list[Truth], stats: dict[str, dict[str, Any]]) -> Claim:
    """The sum in shared memory against the journals; without this the rest would prove less than it says."""
    faults = []
    for truth in truths:
        stat = stats[cast.TOPICS[truth.topic]]
        if truth.known != stat["published"]:
            faults.append(
                f"{cast.TOPICS[truth.topic]}: {truth.known:,} known, {stat['published']:,} published"
            )
        if stat["tail"] != stat["published"] + stat["abandoned"]:
            faults.append(f"{cast.TOPICS[truth.topic]}: tail {stat['tail']:,} is not published + abandoned")
    detail = ", ".join(f"{cast.TOPICS[truth.topic]} {truth.known:,}" for truth in truths)
    return judge("Every committed message is in the journals", faults, detail)


def nothing_is_corrupt(lives: list[Life], truths: list[Truth]) -> Claim:
    faults = [text for truth in truths for text in truth.contradictions]
    checked = 0
    for life in lives:
        corrupt = life.of(Kind.CORRUPT)["a"]
        faults += [f"{life.seat} {life.incarnation}: {cast.TOPICS[life.topic]} {seq}" for seq in corrupt[:3]]
        checked += int((life.records["kind"] == Kind.GOT).sum())
    return judge("0 corrupt", faults, f"{checked:,} receptions: sequence, sender and checksum right")


def only_what_was_committed_was_seen(lives: list[Life], truths: list[Truth]) -> Claim:
    """Neither aborted loans, nor messages of nobody; of a publisher that ended in order, only what it noted."""
    faults = []
    senders = {life.incarnation: life for life in lives if life.has(Kind.SENT) or life.has(Kind.HELLO)}
    for truth in truths:
        seen = truth.identities[truth.identities != 0]
        if (seen & numpy.uint64(POISON)).any():
            faults.append(f"{cast.TOPICS[truth.topic]}: an aborted loan was seen")
        incarnations = seen >> _SHIFT
        for incarnation in set(numpy.unique(incarnations).tolist()):
            life = senders.get(int(incarnation))
            if life is None:
                faults.append(f"{cast.TOPICS[truth.topic]}: messages of {incarnation}, who never was")
                continue
            of_it = seen[incarnations == incarnation]
            aborted = numpy.isin(of_it, life.of(Kind.ABORTED)["b"])
            unnoted = ~numpy.isin(of_it, life.sent_identities) & (
                of_it & numpy.uint64(ANONYMOUS) != ANONYMOUS
            )
            if aborted.any():
                faults.append(f"{life.seat} {incarnation}: an aborted message was seen")
            if unnoted.any() and not life.killed and not life.has(Kind.SKIPPED):
                faults.append(f"{life.seat} {incarnation}: {int(unnoted.sum())} seen that it never sent")
    aborted_count = sum(int((life.records["kind"] == Kind.ABORTED).sum()) for life in lives)
    return judge(
        "Nothing uncommitted was seen", faults, f"{aborted_count:,} loans aborted on purpose, none seen"
    )


def order_is_kept(lives: list[Life], truths: list[Truth]) -> Claim:
    faults = []
    for life in lives:
        seqs = life.of(Kind.GOT)["a"].astype(numpy.int64)
        if (numpy.diff(seqs) <= 0).any():
            faults.append(f"{life.seat} {life.incarnation} went back")
    for truth in truths:
        seen = truth.identities[truth.identities != 0]
        seen = seen[seen & numpy.uint64(ANONYMOUS) != ANONYMOUS]
        order = numpy.argsort(seen >> _SHIFT, kind="stable")
        if (numpy.diff(seen[order].astype(numpy.int64)) <= 0).any():
            faults.append(f"{cast.TOPICS[truth.topic]}: messages of one sender changed places")
    return judge("One order for all, each sender's kept", faults, "")


def _absent(wanted: numpy.ndarray, there: numpy.ndarray) -> int:
    """How many of those wanted are not there; there is sorted."""
    if not len(there):
        return len(wanted)
    at = numpy.minimum(numpy.searchsorted(there, wanted), len(there) - 1)
    return int((there[at] != wanted).sum())


def reliable_readers_lost_nothing(lives: list[Life], truth: Truth) -> Claim:
    faults, rows = [], 0
    committed = numpy.sort(truth.identities[truth.identities != 0])  # once: there are thousands of lives
    for life in lives:
        if life.topic != truth.topic:
            continue
        missing = _absent(life.sent_identities, committed)
        faults += [f"{life.seat} {life.incarnation}: {missing} sent and seen by nobody"] if missing else []
        if not life.reads:
            continue
        seqs = life.of(Kind.GOT)["a"].astype(numpy.int64)
        rows += len(seqs)
        end = truth.tail if life.done else (int(seqs[-1]) + 1 if len(seqs) else life.start)
        expected = truth.sequences(life.start, end)
        if not numpy.array_equal(seqs, expected):
            faults.append(f"{life.seat} {life.incarnation} has {len(seqs)} of {len(expected)} messages")
        if life.of(Kind.COUNT)["c"].any():
            faults.append(f"{life.seat} {life.incarnation} counted a loss")
    return judge("Reliable: 0 lost", faults, f"{truth.known:,} committed, {rows:,} receptions without a gap")


def the_cursor_missed_nothing(lives: list[Life], truth: Truth) -> Claim:
    """Life after life: each begins where one before committed or had read to, so that all of them have all."""
    faults, reached, committed, again = [], 0, 0, 0
    for life in (life for life in lives if life.seat == "reliable-cursor" and life.reads):
        if not committed <= life.start <= max(reached, committed):
            faults.append(f"life {life.incarnation} began at {life.start}, not in {committed} to {reached}")
        again += int(truth.between(life.start, max(reached, life.start)))
        seqs, commits = life.of(Kind.GOT)["a"], life.of(Kind.COMMITTED)["a"]
        reached = max(reached, int(seqs[-1]) + 1 if len(seqs) else 0, life.start)
        committed = max(committed, int(commits[-1]) if len(commits) else 0, life.start)
    if reached < truth.tail and truth.between(reached, truth.tail):
        faults.append(f"it came to {reached} of {truth.tail}")
    return judge(
        "The cursor's reader missed nothing over its deaths", faults, f"{again:,} read again after a kill"
    )


def accounts(life: Life, truth: Truth) -> tuple[Any, Any, Any]:
    """At each account of a reading: when, losses it counted, losses as the sequences tell them."""
    counts = life.of(Kind.COUNT)
    position = counts["a"].astype(numpy.int64)
    committed = truth.between(life.start, position)
    audited = committed - counts["b"].astype(numpy.int64) - counts["d"].astype(numpy.int64)
    return counts["time_ns"], counts["c"].astype(numpy.int64), audited


def made_good(life: Life, counted: Any, audited: Any) -> Any:
    """Accounts of a conflating reader that are short for the moment: it jumps over claims that are still open, and
    what it passed over from there on it counts when they are settled. A later account is exact, unless it is killed."""
    exact = numpy.flatnonzero(counted == audited)
    last = len(counted) if life.killed else exact[-1] if len(exact) else -1
    return (audited > counted) & (numpy.arange(len(counted)) < last)


def losses_are_counted(lives: list[Life], truth: Truth) -> Claim:
    """received + lost + filtered = committed, at every account; and the journal has as many rows as it received."""
    faults, total, checked = [], 0, 0
    for life in lives:
        if life.topic != truth.topic or not life.reads:
            continue
        _, counted, audited = accounts(life, truth)
        checked += len(counted)
        total += int(counted[-1]) if len(counted) else 0
        wrong = numpy.flatnonzero(counted != audited)
        if life.seat == cast.CONFLATING:
            wrong = wrong[~made_good(life, counted, audited)[wrong]]
        if len(wrong):
            at = wrong[0]
            faults.append(f"{life.seat} {life.incarnation}: {counted[at]} counted, {audited[at]} lost")
        is_got, is_count = life.records["kind"] == Kind.GOT, life.records["kind"] == Kind.COUNT
        if (numpy.cumsum(is_got)[is_count] != life.of(Kind.COUNT)["b"]).any():
            faults.append(f"{life.seat} {life.incarnation}: received is not what its journal has")
    return judge(
        "Lossy: losses equal counted gaps", faults, f"{total:,} lost and counted, {checked:,} accounts exact"
    )


def the_slow_one_lost_some(lives: list[Life]) -> Claim:
    """Else the claim before would prove little."""
    lost = sum(int(life.of(Kind.COUNT)["c"].max(initial=0)) for life in lives if life.topic == cast.LOSSY)
    faults = [] if lost else ["nobody lost anything: too short, or the ring too large"]
    return judge("There were losses to count", faults, f"{lost:,}")


def recording_adds_up(truths: list[Truth], stats: dict[str, dict[str, Any]], lake: dict[str, Any]) -> Claim:
    faults = list(lake["problems"])
    told = []
    for truth in truths:
        topic = cast.TOPICS[truth.topic]
        held, stat = lake["topics"][topic], stats[topic]
        if held["messages"] + held["lost"] != stat["published"] or held["abandoned"] != stat["abandoned"]:
            counts = {name: held[name] for name in ("messages", "lost", "abandoned")}
            faults.append(f"{topic}: {counts} of {stat['published']} and {stat['abandoned']} abandoned")
        if (
            len(held["offsets"]) != held["messages"]
            or (numpy.diff(held["offsets"].astype(numpy.int64)) <= 0).any()
        ):
            faults.append(f"{topic}: rows are missing or double")
        before = len(truth.contradictions)
        truth.say(f"the lake's {topic}", held["offsets"].astype(numpy.int64), held["identities"])
        faults += truth.contradictions[before:]
        if topic == "reliable" and held["lost"]:
            faults.append(f"{held['lost']} lost on the reliable topic")
        told.append(f"{topic} {held['messages']:,} + {held['lost']:,} in counted gaps")
    return judge("Published = recorded + counted gaps, every row right", faults, "; ".join(told))


def examine(
    lives: list[Life], truths: list[Truth], stats: dict[str, dict[str, Any]], errors: str
) -> list[Claim]:
    lossy, reliable = truths[cast.LOSSY], truths[cast.RELIABLE]
    return [
        only_the_killed_died(lives, errors),
        every_message_is_known(truths, stats),
        nothing_is_corrupt(lives, truths),
        only_what_was_committed_was_seen(lives, truths),
        order_is_kept(lives, truths),
        reliable_readers_lost_nothing(lives, reliable),
        the_cursor_missed_nothing(lives, reliable),
        losses_are_counted(lives, lossy),
        the_slow_one_lost_some(lives),
    ]
