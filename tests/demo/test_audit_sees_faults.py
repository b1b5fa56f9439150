# SPDX-License-Identifier: Apache-2.0
"""The audit passes an honest show and fails every claim whose evidence was tampered with."""

import honest_evidence as honest
import pytest
from demo.evidence import Evidence

from demo import audit, bodies

MS = honest.MS


def verdicts(evidence: Evidence) -> dict[str, bool]:
    return {claim.title: claim.passed for claim in audit.examine(evidence)}


def recount(evidence: Evidence, incarnation: int, topic: str, **changes: int) -> None:
    counts = honest.life(evidence, incarnation).readings[topic].counts
    counts[-1] = counts[-1]._replace(**changes)


def test_an_honest_show_passes_every_claim():
    found = audit.examine(honest.make())
    assert [claim for claim in found if not claim.passed] == []
    assert len({claim.title for claim in found}) == len(found) == 14


def command_never_handled(evidence):
    del honest.life(evidence, 8).handled[1]


def command_made_up(evidence):
    honest.life(evidence, 8).handled.append((40 * MS, 4))


def command_again_after_its_commit(evidence):
    honest.life(evidence, 8).handled.insert(0, (20 * MS, 0))


def command_out_of_turn(evidence):
    honest.life(evidence, 7).handled[1] = (10 * MS, 2)


def one_lost_message_uncounted(evidence):
    recount(evidence, 5, "lidar", lost=0)


def one_loss_too_many(evidence):
    recount(evidence, 5, "lidar", lost=2)


def abandoned_counted_as_filtered(evidence):
    recount(evidence, 13, "imu", filtered=9)


def reader_stopped_before_the_tail(evidence):
    recount(evidence, 4, "imu", position=9, received=8)


def counted_and_not_delivered(evidence):
    recount(evidence, 5, "lidar", received=2, lost=0)


def member_missed_one_and_filtered_it(evidence):
    reading = honest.life(evidence, 9).readings["chat"]
    for column in (reading.seqs, reading.identities, reading.sent_ns, reading.got_ns):
        honest.drop(column, 1)
    recount(evidence, 9, "chat", rows=1, received=1, filtered=3)


def two_readers_disagree(evidence):
    honest.life(evidence, 12).readings["lidar"].identities[0] = bodies.identity(11, 3)


def reader_went_back(evidence):
    seqs = honest.life(evidence, 4).readings["imu"].seqs
    seqs[2], seqs[3] = seqs[3], seqs[2]


def sender_out_of_order(evidence):
    for incarnation in (1, 9, 10):
        identities = honest.life(evidence, incarnation).readings["chat"].identities
        for index, value in enumerate(identities):
            identities[index] = {bodies.identity(9, 1): bodies.identity(9, 2)}.get(value, value)
    honest.life(evidence, 9).sent["chat"][0] = (0, 0, bodies.identity(9, 2))


def body_corrupt(evidence):
    honest.life(evidence, 4).readings["imu"].corrupt.append(3)


def aborted_loan_seen(evidence):
    reading = honest.life(evidence, 12).readings["lidar"]
    reading.seqs[1], reading.identities[1] = 1, bodies.identity(11, 2) | bodies.POISON


def message_from_nobody(evidence):
    honest.life(evidence, 4).readings["imu"].identities[0] = bodies.identity(99, 1)


def message_before_it_was_sent(evidence):
    honest.life(evidence, 4).readings["imu"].seqs.append(12)
    honest.life(evidence, 4).readings["imu"].identities.append(bodies.identity(3, 9))


def message_unknown_to_all_journals(evidence):
    evidence.topics["chat"].published += 1


def process_ended_by_itself(evidence):
    story = honest.life(evidence, 4)
    story.exit_code, story.errors = 1, "Traceback …\nCorrupt: a slot is in no known state"


def process_stalled_at_a_kill(evidence):
    story = honest.life(evidence, 9)
    story.sent["chat"][1] = (6000 * MS, 2, honest.CHAT[2])
    story.ended_ns = 7000 * MS


def process_never_came_back(evidence):
    honest.life(evidence, 3).sent.clear()


def bus_silent_for_seconds(evidence):
    evidence.ended_ns = 8000 * MS


def slow_reader_was_quick_enough(evidence):
    honest.life(evidence, 5).readings["lidar"] = honest.reading(honest.CLOUDS, [0, 2], 3)


def doctor_found_something(evidence):
    evidence.findings.append("imu: 1 table entry of dead processes")


def something_left(evidence):
    evidence.left_over.append("process 4711")


ACCOUNTS = "received + lost + filtered = committed, every reader"
FAULTS = [
    (command_never_handled, "Every committed command was handled"),
    (command_made_up, "Every committed command was handled"),
    (command_again_after_its_commit, "Commands came in order; none again once committed"),
    (command_out_of_turn, "Commands came in order; none again once committed"),
    (one_lost_message_uncounted, ACCOUNTS),
    (one_loss_too_many, ACCOUNTS),
    (abandoned_counted_as_filtered, ACCOUNTS),
    (reader_stopped_before_the_tail, ACCOUNTS),
    (counted_and_not_delivered, ACCOUNTS),
    (member_missed_one_and_filtered_it, "Reliable readers lost nothing while they lived"),
    (two_readers_disagree, "All readers saw one order"),
    (reader_went_back, "All readers saw one order"),
    (sender_out_of_order, "All readers saw one order"),
    (body_corrupt, "0 corrupt"),
    (aborted_loan_seen, "Nothing uncommitted was seen"),
    (message_from_nobody, "All readers saw one order"),
    (message_before_it_was_sent, "Nothing uncommitted was seen"),
    (message_unknown_to_all_journals, "Every committed message is in the journals"),
    (process_ended_by_itself, "Nobody died but the killed"),
    (process_stalled_at_a_kill, "Survivors went on at every kill"),
    (process_never_came_back, "The killed came back to work"),
    (bus_silent_for_seconds, "The killed came back to work"),
    (slow_reader_was_quick_enough, "The slow reader was lapped, and told by how much"),
    (doctor_found_something, "The doctor finds nothing"),
    (something_left, "No file and no process is left"),
]


@pytest.mark.parametrize(("tamper", "title"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_fault_fails_its_claim(tamper, title):
    evidence = honest.make()
    tamper(evidence)
    assert verdicts(evidence)[title] is False


def test_every_claim_has_a_fault_that_fails_it():
    assert {title for _, title in FAULTS} == set(verdicts(honest.make()))


def test_a_conflating_reader_may_be_short_while_sends_are_under_way_and_must_be_exact_at_its_end():
    evidence = honest.make()
    reading = honest.life(evidence, 13).readings["imu"]
    reading.counts.insert(0, reading.counts[0]._replace(filtered=3))
    assert verdicts(evidence)[ACCOUNTS]
    reading.counts.append(reading.counts[0])
    assert not verdicts(evidence)[ACCOUNTS]
