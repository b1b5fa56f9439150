# SPDX-License-Identifier: Apache-2.0
"""Bodies betray every change, and journals survive being cut off anywhere."""

import pytest
from demo.evidence import tell
from demo.journal import Journal, Kind, Record
from honest_evidence import story

from demo import bodies, journal


@pytest.mark.parametrize("payload", [b"", b"x", bytes(range(256)) * 16])
def test_a_body_is_opened_by_whom_it_reaches_whole(payload):
    body = bodies.make(bodies.identity(7, 42), payload)
    opened = bodies.open_body(bytes(body))
    assert opened is not None
    assert bodies.sender_of(opened[0]) == (7, 42)


def test_any_flipped_bit_and_any_cut_is_seen():
    body = bodies.make(bodies.identity(7, 42), b"payload")
    covered = [*range(4), *range(8, len(body))]  # four bytes of the header are padding
    for at in covered:
        for bit in range(8):
            damaged = bytearray(body)
            damaged[at] ^= 1 << bit
            assert bodies.open_body(bytes(damaged)) is None
    for size in range(len(body)):
        assert bodies.open_body(bytes(body[:size])) is None


def test_a_journal_cut_in_the_middle_of_a_record_keeps_all_before(tmp_path):
    path = tmp_path / "journal"
    writer = Journal(path)
    writer.write(Kind.HELLO)
    writer.write_all([Record(Kind.GOT, 0, 5, 1, 2, 3), Record(Kind.COUNT, 0, 5, 2, 1, 0, 0)])
    writer.close()
    whole = path.read_bytes()
    kinds = [record.kind for record in journal.parse(whole)]
    assert kinds == [Kind.HELLO, Kind.GOT, Kind.COUNT]
    assert [record.kind for record in journal.parse(whole[:-1])] == kinds[:-1]
    assert [record.kind for record in journal.read(path, 1)] == kinds[:1]
    assert journal.read(tmp_path / "none") == []


def test_a_tail_gives_each_record_once_while_the_journal_grows(tmp_path):
    path = tmp_path / "journal"
    tail = journal.Tail(path)
    assert tail.more() == []
    writer = Journal(path)
    for count in range(1, 4):
        writer.write(Kind.SENT, 0, count)
        assert [record.a for record in tail.more()] == [count]
    writer.close()


def test_a_story_is_told_from_its_records():
    told = tell(
        story("balance", 4),
        [
            Record(Kind.HELLO, 0, 1),
            Record(Kind.START, 0, 2, 10, 0, 0, 0),
            Record(Kind.GOT, 0, 3, 10, 77, 2),
            Record(Kind.COUNT, 0, 3, 11, 1, 0, 0),
            Record(Kind.CORRUPT, 0, 4, 11),
            Record(Kind.DONE, 0, 5),
        ],
    )
    reading = told.readings["imu"]
    assert (list(reading.seqs), list(reading.identities), reading.corrupt) == ([10], [77], [11])
    assert (reading.start.position, reading.counts[0].rows, reading.done) == (10, 1, True)
