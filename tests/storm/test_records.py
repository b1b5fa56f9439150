# SPDX-License-Identifier: Apache-2.0
"""Bodies show every change, and a journal can be cut at any byte."""

import numpy
import pytest

from storm import bodies, journal
from storm.audit import Life, written_out
from storm.journal import RECORD, Journal, Kind, Record


@pytest.mark.parametrize("payload", [b"", b"x", bytes(range(256)) * 16])
def test_a_whole_body_can_be_opened(payload):
    body = bodies.with_payload(bodies.identity(7, 42), payload)
    opened = bodies.open_body(bytes(body))
    assert opened is not None
    assert bodies.sender_of(opened[0]) == (7, 42)


def test_any_flipped_bit_and_any_cut_is_detected():
    body = bodies.with_payload(bodies.identity(7, 42), b"payload")
    covered = [*range(4), *range(8, len(body))]  # four bytes of the header are padding
    for at in covered:
        for bit in range(8):
            damaged = bytearray(body)
            damaged[at] ^= 1 << bit
            assert bodies.open_body(bytes(damaged)) is None
    for size in range(len(body)):
        assert bodies.open_body(bytes(body[:size])) is None


def test_a_journal_cut_within_a_record_keeps_all_records_before_it(tmp_path):
    path = tmp_path / "journal"
    writer = Journal(path)
    writer.write(Kind.BEGAN)
    writer.write_all([Record(Kind.RECEIVED, 0, 5, 1, 2, 3), Record(Kind.COUNTED, 0, 5, 2, 1, 0, 0)])
    writer.close()
    whole = path.read_bytes()
    kinds = [Kind.BEGAN, Kind.RECEIVED, Kind.COUNTED]
    assert journal.parse(whole)["kind"].tolist() == kinds
    for cut in range(1, RECORD.itemsize + 1):
        assert journal.parse(whole[:-cut])["kind"].tolist() == kinds[:-1]
    assert journal.load(path, 1)["kind"].tolist() == kinds[:1]
    assert len(journal.load(tmp_path / "none")) == 0
    assert (journal.count(path, Kind.RECEIVED), journal.count(path, Kind.RECEIVED, 1)) == (1, 0)


def test_a_tail_returns_each_record_once_while_the_journal_grows(tmp_path):
    path = tmp_path / "journal"
    tail = journal.Tail(path)
    assert len(tail.more()) == 0
    writer = Journal(path)
    for count in range(1, 4):
        writer.write(Kind.SENT, 0, count)
        assert tail.more()["a"].tolist() == [count]
    writer.close()


def array(*records: Record):
    return numpy.array([(r.kind, r.topic, b"", *r[2:]) for r in records], dtype=RECORD)


def test_a_reading_is_made_of_its_records():
    life = Life(
        "balance",
        4,
        0,
        False,
        array(
            Record(Kind.BEGAN, 0, 1),
            Record(Kind.STARTED, 1, 2, 10, 0, 0, 0),
            Record(Kind.RECEIVED, 1, 3, 10, 77, 2),
            Record(Kind.COUNTED, 1, 3, 11, 1, 0, 0),
            Record(Kind.CORRUPT, 1, 4, 11),
            Record(Kind.ENDED, 1, 5),
        ),
    )
    assert list(life.readings) == [1]
    reading = life.readings[1]
    assert (reading.seqs.tolist(), reading.column("b").tolist()) == ([10], [77])
    assert reading.corrupt["a"].tolist() == [11]
    assert (reading.begin, reading.end, reading.told.tolist(), reading.ended) == (10, 11, [1], True)


def test_batches_are_written_out_with_their_steps():
    sent = array(
        Record(Kind.SENT, 0, 0, 0, 5), Record(Kind.SENT, 0, 0, 0, 11, 3, 2), Record(Kind.SENT, 0, 0, 0, 13, 2)
    )
    assert written_out(sent).tolist() == [5, 7, 9, 11, 12, 13]
