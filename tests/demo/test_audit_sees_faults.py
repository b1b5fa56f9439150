# SPDX-License-Identifier: Apache-2.0
"""The audit passes an honest run and fails every claim whose evidence was tampered with."""

import honest_evidence as honest
import pytest
from demo.evidence import Evidence

from demo import audit
from storm import bodies
from storm.journal import TORN, Kind

MS = honest.MS


def verdicts(evidence: Evidence) -> dict[str, bool]:
    return {claim.title: claim.passed for claim in audit.examine(evidence)}


def recount(evidence: Evidence, number: int, topic: str, **changes: int) -> None:
    names = {"position": "a", "received": "b", "lost": "c", "filtered": "d"}
    fields = {names[name]: value for name, value in changes.items()}
    honest.change(evidence, number, Kind.COUNTED, topic, -1, **fields)


def test_an_honest_run_passes_every_claim():
    found = audit.examine(honest.make())
    assert [claim for claim in found if not claim.passed] == []
    assert len({claim.title for claim in found}) == len(found) == 14


def command_never_handled(evidence):
    honest.drop(evidence, 8, Kind.HANDLED, "commands", 1)


def command_made_up(evidence):
    honest.insert(evidence, 8, honest.record(Kind.HANDLED, "commands", 40, 4))


def command_again_after_its_commit(evidence):
    first = honest.rows(evidence, 8, Kind.HANDLED, "commands")[0]
    honest.insert(evidence, 8, honest.record(Kind.HANDLED, "commands", 20, 0), first)


def command_out_of_turn(evidence):
    honest.change(evidence, 7, Kind.HANDLED, "commands", 1, a=2)


def cursor_went_on_elsewhere(evidence):
    honest.change(evidence, 8, Kind.STARTED, "commands", 0, a=0)


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
    honest.drop(evidence, 9, Kind.RECEIVED, "chat", 1)
    recount(evidence, 9, "chat", received=1, filtered=3)


def reliable_reader_counted_a_loss(evidence):
    recount(evidence, 9, "chat", filtered=1, lost=1)


def two_readers_disagree(evidence):
    honest.change(evidence, 12, Kind.RECEIVED, "lidar", 0, b=bodies.identity(11, 3))


def two_senders_claim_one_sequence(evidence):
    honest.change(evidence, 10, Kind.SENT, "chat", 0, a=0)


def reader_went_back(evidence):
    for which, seq in ((2, 3), (3, 2)):
        honest.change(evidence, 4, Kind.RECEIVED, "imu", which, a=seq, b=honest.IMU[seq])


def sender_out_of_order(evidence):
    for number, which in ((1, 0), (10, 0)):
        honest.change(evidence, number, Kind.RECEIVED, "chat", which, b=bodies.identity(9, 2))
    honest.change(evidence, 9, Kind.SENT, "chat", 0, b=bodies.identity(9, 2))


def body_corrupt(evidence):
    honest.insert(evidence, 4, honest.record(Kind.CORRUPT, "imu", 90, 3, 0, TORN))


def aborted_loan_seen(evidence):
    poisoned = bodies.identity(11, 2) | bodies.POISON
    honest.change(evidence, 12, Kind.RECEIVED, "lidar", 1, a=1, b=poisoned)


def message_sent_and_aborted(evidence):
    honest.change(evidence, 11, Kind.ABORTED, "lidar", 0, b=bodies.identity(11, 3))


def message_from_nobody(evidence):
    honest.change(evidence, 4, Kind.RECEIVED, "imu", 0, b=bodies.identity(99, 1))


def message_before_it_was_sent(evidence):
    honest.insert(evidence, 4, honest.record(Kind.RECEIVED, "imu", 95, 12, bodies.identity(3, 9)))


def message_unknown_to_all_journals(evidence):
    evidence.ends["chat"].published += 1


def process_ended_by_itself(evidence):
    life = honest.life(evidence, 4)
    life.code, life.error = 1, "Corrupt: a slot is in no known state"


def process_stalled_at_a_kill(evidence):
    honest.change(evidence, 9, Kind.SENT, "chat", 1, time_ns=6000 * MS)
    honest.life(evidence, 9).ended_ns = 7000 * MS


def process_never_came_back(evidence):
    life = honest.life(evidence, 3)
    life.records = life.records[:0]


def bus_silent_for_seconds(evidence):
    evidence.ended_ns = 8000 * MS


def slow_reader_was_quick_enough(evidence):
    quick = honest.reading("lidar", honest.CLOUDS, [0, 2], 3)
    honest.life(evidence, 5).records = honest.story("logger", 5, *quick).records


def doctor_found_something(evidence):
    evidence.findings.append("imu: 1 table entry of dead processes")


def something_left(evidence):
    evidence.left_over.append("process 4711")


ACCOUNTS = "received + lost + filtered = committed, for every reader"
FAULTS = [
    (command_never_handled, "Every committed command was handled"),
    (command_made_up, "Every committed command was handled"),
    (command_again_after_its_commit, "Commands came in order, none again after its commit"),
    (command_out_of_turn, "Commands came in order, none again after its commit"),
    (one_lost_message_uncounted, ACCOUNTS),
    (one_loss_too_many, ACCOUNTS),
    (abandoned_counted_as_filtered, ACCOUNTS),
    (reader_stopped_before_the_tail, ACCOUNTS),
    (counted_and_not_delivered, ACCOUNTS),
    (member_missed_one_and_filtered_it, "Reliable readers lost nothing while they lived"),
    (two_readers_disagree, "All readers saw the same order"),
    (reader_went_back, "All readers saw the same order"),
    (sender_out_of_order, "All readers saw the same order"),
    (body_corrupt, "No message is corrupt"),
    (aborted_loan_seen, "No uncommitted message was seen"),
    (message_from_nobody, "All readers saw the same order"),
    (message_before_it_was_sent, "No uncommitted message was seen"),
    (message_unknown_to_all_journals, "Every committed message is in the journals"),
    (process_ended_by_itself, "Only killed processes died"),
    (process_stalled_at_a_kill, "The other processes continued at every kill"),
    (process_never_came_back, "Every killed process was replaced"),
    (bus_silent_for_seconds, "Every killed process was replaced"),
    (slow_reader_was_quick_enough, "The slow reader lost messages, and counted them"),
    (doctor_found_something, "The doctor finds no problem"),
    (message_sent_and_aborted, "No uncommitted message was seen"),
    (cursor_went_on_elsewhere, "Commands came in order, none again after its commit"),
    (two_senders_claim_one_sequence, "All readers saw the same order"),
    (reliable_reader_counted_a_loss, "Reliable readers lost nothing while they lived"),
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
    short = honest.record(Kind.COUNTED, "imu", 100, 10, 1, 0, 3)
    evidence = honest.make()
    honest.insert(evidence, 13, short, honest.rows(evidence, 13, Kind.COUNTED, "imu")[0])
    assert verdicts(evidence)[ACCOUNTS]
    evidence = honest.make()
    honest.insert(evidence, 13, short)
    assert not verdicts(evidence)[ACCOUNTS]
