# SPDX-License-Identifier: Apache-2.0
"""The audit: all claims over one body of evidence. Nothing here touches the bus, a file or a process."""

from demo import bodies, claims, timings, truth
from demo.claims import Claim, Truths, judge
from demo.evidence import Evidence

STALLED_S = 5.0  # a survivor that shows no sign of life for so long after a kill counts as stalled


def only_the_killed_died(evidence: Evidence) -> Claim:
    faults = [
        f"{story.seat} {story.incarnation} ended with {story.exit_code}: {_last_line(story.errors)}"
        for story in evidence.stories
        if not story.killed and story.exit_code != 0
    ]
    pauses = len(evidence.strikes) - len(evidence.kills)
    detail = f"{len(evidence.kills)} SIGKILLs, {pauses} SIGSTOPs, {len(evidence.stories)} lives"
    return judge("Nobody died but the killed", faults, detail)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "said nothing"


def nothing_is_corrupt(evidence: Evidence) -> Claim:
    faults = [
        f"{story.seat} {story.incarnation}: {topic} {seq}"
        for story, topic, reading in evidence.readings()
        for seq in reading.corrupt
    ]
    checked = sum(len(reading.seqs) for _, _, reading in evidence.readings())
    return judge("0 corrupt", faults, f"{checked:,} checksums right; clouds again after being held")


def nothing_uncommitted_was_seen(evidence: Evidence, truths: Truths) -> Claim:
    """Aborted loans are marked; and nobody received what its sender had not got to yet."""
    last_sent = {
        story.incarnation: max((bodies.sender_of(identity)[1] for *_, identity in sent), default=0)
        for story in evidence.stories
        for sent in [[row for rows in story.sent.values() for row in rows]]
    }
    gave_up = {story.incarnation: story.aborted + story.skipped for story in evidence.stories}
    faults = []
    for topic, found in truths.items():
        for seq, identity in found.identities.items():
            incarnation, counter = bodies.sender_of(identity)
            if identity & bodies.POISON:
                faults.append(f"{topic} {seq} was aborted, and seen")
            elif incarnation not in last_sent:
                faults.append(f"{topic} {seq} comes from nobody")
            elif counter > last_sent[incarnation] + gave_up[incarnation] + 1:
                faults.append(f"{topic} {seq} was seen before it was sent")
    aborted = sum(story.aborted for story in evidence.stories)
    abandoned = sum(end.abandoned for end in evidence.topics.values())
    detail = f"{abandoned} sequences abandoned ({aborted} loans aborted on purpose), none seen"
    return judge("Nothing uncommitted was seen", faults, detail)


def the_slow_reader_was_lapped(evidence: Evidence) -> Claim:
    """Else the run would prove little about counting losses."""
    lasts = [
        (reading.counts[-1].received, reading.counts[-1].lost)
        for story in evidence.of("logger")
        for reading in story.readings.values()
        if reading.counts
    ]
    received, lost = sum(row[0] for row in lasts), sum(row[1] for row in lasts)
    faults = [] if lost else ["it lost nothing in this run: the ring was too large or the time too short"]
    return judge(
        "The slow reader was lapped, and told by how much", faults, f"{received:,} read, {lost:,} lost"
    )


def survivors_went_on(evidence: Evidence) -> Claim:
    pauses = timings.survivor_pauses(evidence)
    faults = [
        f"{pause.seat} stood still for {pause.pause_s:.1f} s at a kill"
        for pause in pauses
        if pause.pause_s >= STALLED_S
    ]
    faults += [] if pauses else ["no kill was survived by anybody"]
    worst = max(pauses, key=lambda pause: pause.pause_s, default=None)
    longest = f"longest pause {worst.pause_s * 1e3:.1f} ms ({worst.seat}) in {len(pauses):,}" if worst else ""
    quiet = max((pause.pause_s for pause in timings.quiet_pauses(evidence)), default=0.0)
    detail = f"{longest}; {quiet * 1e3:.1f} ms between kills"
    return judge("Survivors went on at every kill", faults, detail)


def the_killed_came_back(evidence: Evidence) -> Claim:
    """Else a robot that stands still would pass for one that loses nothing."""
    last = {story.seat: story for story in evidence.stories}
    faults = [f"{seat} did not" for seat, story in last.items() if not timings.signs_of_life(story)]
    silence_ms, returns = timings.silence_ms(evidence), timings.returns_ms(evidence)
    if silence_ms >= STALLED_S * 1e3:
        faults.append(f"nothing was sent for {silence_ms / 1e3:.1f} s")
    median = timings.percentile(returns, 50)
    detail = f"at work after {median:.0f} ms (median); longest silence of the bus {silence_ms:.1f} ms"
    return judge("The killed came back to work", faults, detail)


def the_doctor_finds_nothing(evidence: Evidence) -> Claim:
    cleared = ", ".join(evidence.cleared)
    detail = (
        f"after clearing {cleared}" if cleared else f"after {len(evidence.kills)} kills, nothing to clear"
    )
    return judge("The doctor finds nothing", evidence.findings, detail)


def nothing_is_left(evidence: Evidence) -> Claim:
    return judge(
        "No file and no process is left", evidence.left_over, f"{len(evidence.stories)} processes ended"
    )


def examine(evidence: Evidence) -> list[Claim]:
    truths = truth.find_all(evidence)
    return [
        only_the_killed_died(evidence),
        the_killed_came_back(evidence),
        survivors_went_on(evidence),
        claims.every_message_is_known(evidence, truths),
        claims.every_command_was_handled(evidence, truths),
        claims.commands_came_in_order(evidence, truths),
        claims.accounts_are_exact(evidence, truths),
        claims.reliable_readers_lost_nothing(evidence, truths),
        the_slow_reader_was_lapped(evidence),
        claims.one_order_for_all(evidence, truths),
        nothing_is_corrupt(evidence),
        nothing_uncommitted_was_seen(evidence, truths),
        the_doctor_finds_nothing(evidence),
        nothing_is_left(evidence),
    ]
