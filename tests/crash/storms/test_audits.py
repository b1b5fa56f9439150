# SPDX-License-Identifier: Apache-2.0
"""The audit of a storm on constructed journals: correct ones pass, and each planted fault is found."""

import os
import re

import numpy
import pytest

import slipring
from crash.storms import structures_audit
from storm import audit, bodies, journal, native
from storm.audit import Life
from storm.board import Board
from storm.journal import CHANGED, RECORD, TORN, UNKNOWN, Kind
from support.processes import Process

SENDER = 1
POISONED = bodies.identity(SENDER, 4) | bodies.POISON


def who(counter: int, life: int = SENDER) -> int:
    return bodies.identity(life, counter)


def life(name: str, number: int, *records: tuple, code: int = 0, killed: bool = False) -> Life:
    rows = [(int(kind), 0, b"", 0, *values, *[0] * (4 - len(values))) for kind, *values in records]
    return Life(name, number, code, killed, numpy.array(rows, dtype=RECORD))


def got(*rows: tuple[int, int]) -> list[tuple]:
    return [(Kind.RECEIVED, seq, identity) for seq, identity in rows]


def torn(seq: int, how: int = TORN) -> tuple:
    return (Kind.CORRUPT, seq, 0, how)


def counted(position: int, received: int, lost: int = 0, filtered: int = 0) -> tuple:
    return (Kind.COUNTED, position, received, lost, filtered)


START = (Kind.STARTED, 0)
MESSAGES = [(0, who(1)), (1, who(2)), (2, who(3))]
SENT = [(Kind.SENT, seq, identity, 1) for seq, identity in MESSAGES]
ALL = [START, *got(*MESSAGES), counted(3, 3), (Kind.ENDED,)]
LOSSY = [START, *got(MESSAGES[0]), counted(1, 1), *got(MESSAGES[2]), counted(3, 2, 1)]
CURSOR = [
    [START, *got(MESSAGES[0]), (Kind.COMMITTING, 1), (Kind.COMMITTED, 1)],
    [(Kind.STARTED, 1), *got(*MESSAGES[1:])],
]
STATS = {"tail": 3, "published": 3, "abandoned": 0}


def topic(
    sent=SENT,
    witness=ALL,
    other=ALL[:-1],
    lossy=LOSSY,
    cursor=CURSOR,
    stats=STATS,
    code=0,
    exact=True,
    **sender,
) -> list[str]:
    lives = [
        life("sender", SENDER, *sent, **sender),
        life("witness", 10, *witness, code=code),
        life("other", 20, *other),
        life("lossy", 30, *lossy),
        *(life("cursor", 40 + n, *records) for n, records in enumerate(cursor)),
    ]
    of = audit.Topic("t", 0, stats["tail"], lives)
    return [
        *audit.died(lives),
        *of.contradictions,
        *audit.corrupt(of),
        *audit.uncommitted(of, lives),
        *audit.disorder(of),
        *audit.unknown(of, stats),
        *audit.unreceived(of),
        *audit.gaps(of, of.of("witness", "other")),
        *audit.uncounted(of, of.of("witness", "other", "lossy"), exact),
        *audit.cursor_faults(of, of.of("cursor")),
        *audit.unfinished(of, of.of("witness"), stats["published"]),
    ]


def test_a_storm_in_order_passes():
    assert topic() == topic(exact=False) == []


def test_a_killed_sender_may_have_sent_a_little_more_than_its_journal_has():
    assert topic(SENT[:2], killed=True, code=0) == []


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"other": [START, *got(MESSAGES[0], MESSAGES[2])]}, "other 20 has a gap"),
        ({"other": [*ALL[:3], *got((2, who(2)))]}, "t 2 is 0x100000003 to one, 0x100000002 to other"),
        ({"other": [*ALL[:-1], torn(3)]}, "t 3 arrived torn"),
        ({"other": [*ALL[:-1], torn(3, CHANGED)]}, "t 3 changed while it was held"),
        ({"other": [*ALL[:-1], *got((3, POISONED))]}, "never committed"),
        ({"other": [*ALL[:-1], *got((3, who(3, 99)))]}, "come from nobody"),
        ({"other": [*ALL[:-1], *got((3, who(9)))]}, "never sent its 9"),
        ({"other": [*ALL[:-1], *got((3, who(40)))], "killed": True}, "before it was sent"),
        (
            {"sent": [*SENT, (Kind.ABORTED, 0, who(4))], "other": [*ALL[:-1], *got((3, who(4)))]},
            "aborted message",
        ),
        ({"other": [*ALL[:-1], *got(MESSAGES[2])]}, "other 20 went back"),
        ({"other": [*ALL[:-1], *got((3, who(3)))]}, "changed places"),
        (
            {"other": [*ALL[:-1], *got((3, who(4)))], "sent": [*SENT, (Kind.SENT, 3, who(4), 1)]},
            "beyond its end",
        ),
        ({"other": [*ALL[:-2], counted(3, 2)]}, "counted 2 received, its journal has 3"),
        ({"other": [*ALL[:-2], counted(3, 3, 1)]}, "counted a loss"),
        (
            {"witness": [*ALL[:3], counted(2, 2)], "other": ALL[:3], "lossy": LOSSY[:3], "cursor": []},
            "never received",
        ),
        ({"sent": [*SENT, (Kind.SENT, 2, who(3), 2, 2), (Kind.SENT, 2, who(3), 3, 5)]}, "never received"),
        ({"lossy": [START, *got(MESSAGES[0], MESSAGES[2]), counted(3, 2, 0)]}, "accounts for 2 of 3"),
        ({"lossy": [START, *got(MESSAGES[0], MESSAGES[2]), counted(3, 2, 2)]}, "accounts for 4 of 3"),
        ({"lossy": [START, *got(MESSAGES[0], MESSAGES[2]), counted(3, 2, 0)], "exact": False}, "2 of 3 to 3"),
        ({"lossy": [START, *got(MESSAGES[0], MESSAGES[2]), counted(3, 2, 2)], "exact": False}, "4 of 3 to 3"),
        (
            {"lossy": [*LOSSY[:2], counted(1, 1, 1), *LOSSY[3:4], counted(3, 2, 1)], "exact": False},
            "2 of 1 to 1",
        ),
        ({"cursor": [CURSOR[0], [(Kind.STARTED, 2)]]}, "began at 2"),
        ({"cursor": [CURSOR[0], [(Kind.STARTED, 1), *got(MESSAGES[2])]]}, "cursor 41 has a gap"),
        ({"witness": [*ALL[:-2], counted(2, 3), (Kind.ENDED,)]}, "ended at 2, not at the tail"),
        ({"witness": [*ALL[:-2], counted(3, 3, 0, 1), (Kind.ENDED,)]}, "accounts for 4 of 3"),
        ({"stats": {**STATS, "published": 4, "tail": 4}}, "3 in the journals, 4 published"),
        ({"stats": {**STATS, "abandoned": 1}}, "tail 3 is not 3 \\+ 1 abandoned"),
        ({"code": 1}, "witness 10 ended with 1"),
    ],
)
def test_a_fault_of_a_topic_is_seen(fault, told):
    faults = topic(**fault)
    assert any(re.search(told, found) for found in faults), faults


CELLS_STATS = {"received": 2, "lost": 1, "skipped": 0, "position": 3, "puts": 3, "depth": 3}
ELEMENTS = got(MESSAGES[0], MESSAGES[2])


def cells(rows=ELEMENTS, **stats) -> None:
    readers = [life("reader", 10, *rows[:1]), life("reader", 11, *rows[1:])]
    structures_audit.cells([life("writer", SENDER, *SENT)], readers, {**CELLS_STATS, **stats})


def test_cells_in_order_pass():
    cells()
    cells(rows=got((UNKNOWN, who(1)), (UNKNOWN, who(3))))


@pytest.mark.parametrize(
    "fault",
    [
        {"rows": got(MESSAGES[0], MESSAGES[0])},
        {"rows": got(MESSAGES[2], MESSAGES[0])},
        {"rows": [*ELEMENTS[:1], torn(2)]},
        {"rows": [*ELEMENTS[:1], torn(2, CHANGED)]},
        {"rows": got(MESSAGES[0], (2, who(3) | bodies.POISON))},
        {"rows": got(MESSAGES[0], (1, who(3)))},
        {"rows": got(MESSAGES[0], (2, who(3, 99)))},
        {"lost": 0},
        {"received": 1, "lost": 2},
        {"position": 9, "puts": 9, "lost": 7},
    ],
)
def test_a_fault_of_cells_is_seen(fault):
    with pytest.raises(AssertionError):
        cells(**fault)


def frames(witness=MESSAGES, other=ALL[2:4], end=(3, 0), total: int = 3) -> None:
    readers = [life("reader", 10, *got(*witness), counted(0, *end)), life("mortal", 20, *other)]
    structures_audit.frames([life("writer", SENDER, *SENT)], readers, {"mortal"}, total)


def test_frames_in_order_pass():
    frames()
    frames(witness=[MESSAGES[0], MESSAGES[2]], end=(2, 1))


@pytest.mark.parametrize(
    "fault",
    [
        {"other": got((1, who(3)))},
        {"other": [torn(1)]},
        {"other": [torn(1, CHANGED)]},
        {"other": got(MESSAGES[1], MESSAGES[1])},
        {"other": got((1, who(2) | bodies.POISON))},
        {"witness": [MESSAGES[0], MESSAGES[2]], "end": (2, 0)},
        {"end": (2, 1)},
        {"total": 2},
        {"total": 9, "end": (3, 6)},
    ],
)
def test_a_fault_of_frames_is_seen(fault):
    with pytest.raises(AssertionError):
        frames(**fault)


RIGHT, WRONG, GIVEN_UP = (
    (Kind.SENT, 0, who(1, 20), 1),
    (Kind.CORRUPT, 0, who(1, 20)),
    (Kind.REFUSED, 0, who(2, 20), 1),
)


def calls(served, client=(RIGHT, GIVEN_UP), mortal: bool = True):
    server = life("server", 10, *((Kind.HANDLED, 0, who(number, 20)) for number in served))
    return structures_audit.calls([server], [life("client", 20, *client)], mortal)


def test_calls_in_order_pass():
    assert calls([1]) == calls([1, 2]) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [
        {"served": [1, 1]},
        {"served": [2]},
        {"served": [1], "client": [WRONG]},
        {"served": [1], "mortal": False},
    ],
)
def test_a_fault_of_calls_is_seen(fault):
    with pytest.raises(AssertionError):
        calls(**fault)


@pytest.mark.parametrize("take", ["recv", "recv_many", "view", "wait"])
def test_a_reader_in_c_distinguishes_whole_and_torn_bodies(bus, bus_root, tmp_path, workers_in_c, take):
    """Send every kind of body, bodies of another sender, bodies of another type, and torn ones."""
    sizes = (300, 24, 12, 5, 0)
    whole = [bytes(bodies.make(who(2 * (n + 1), 7), size)) for n, size in enumerate(sizes)]
    spoilt = [body[:-1] + bytes([body[-1] ^ 1]) for body in whole[:-1]]
    foreign = [bytes(bodies.make(who(20, 8), size)) for size in sizes[:-1]]
    with bus.publisher("t", sender="i7", delivery="reliable") as pub:
        for body in (*whole, *spoilt, *foreign):
            pub.send(body, type=bodies.TYPES[0])
        pub.send(whole[0], type=bodies.TYPES[1])
        sent = len(whole) + len(spoilt) + len(foreign) + 1
        board = Board(tmp_path / "board")
        board.order_end(sent)
        worker = {
            "root": bus_root,
            "bus_name": "test",
            "topics": ["t"],
            "topic_number": 0,
            "life": 9,
            "row": 0,
        }
        worker |= {"board_path": tmp_path / "board", "journal_path": tmp_path / "journal"}
        options = native._reader(take, {"start": "oldest"})
        arguments = map(str, ["reader", *native.arguments(worker), *options])
        Process([os.environ[native.PROGRAM], *arguments], dict(os.environ)).join()
        board.close()
    records = journal.load(tmp_path / "journal")
    received = records[records["kind"] == Kind.RECEIVED]
    assert received["a"].tolist() == [0, 1, 2, 3, 4]
    assert received["b"].tolist() == [who(2, 7), who(4, 7), who(6, 7), *[who(bodies.ANONYMOUS, 7)] * 2]
    assert received["d"].tolist() == list(sizes)
    assert records[records["kind"] == Kind.CORRUPT]["a"].tolist() == list(range(5, sent))
    assert slipring.Bus("test", root=str(bus_root)).stats("t")["published"] == sent


@pytest.mark.parametrize("size", [0, 5, 8, 23, 24, 25, 300, 5000])
def test_any_flipped_bit_of_a_body_is_detected(size):
    body = bytes(bodies.make(who(6), size))
    assert bodies.check("i1", body)[0] == (who(6) if size >= 8 else who(bodies.ANONYMOUS))
    covered = [
        at for at in range(size) if size < 24 or not 4 <= at < 8
    ]  # four bytes of the header are padding
    for at in covered[:40] + covered[-3:]:
        changed = body[:at] + bytes([body[at] ^ 16]) + body[at + 1 :]
        assert bodies.check("i1", changed) is None
    assert size == 0 or bodies.check("i2", body) is None
