# SPDX-License-Identifier: Apache-2.0
"""The audits of a storm, on made-up journals: what is in order passes, and each seeded fault is seen."""

import os
from types import SimpleNamespace

import pytest

import slipring
from crash import bodies, native, structures_audit
from crash import journal as jn
from crash.actors import TYPES
from crash.audit import Audit
from crash.board import Board
from crash.company import Part
from support.processes import Process

SENDER, HEIR = 1, 2


@pytest.fixture
def part(tmp_path):
    """A part with a life for each of the journals, numbered from `first` on."""

    def make(name: str, target: str, *journals: list[tuple], first: int = 10, mortal: bool = True) -> Part:
        made = Part(name, target, {}, mortal)
        for incarnation, rows in enumerate(journals, first):
            path = tmp_path / f"{name}.{incarnation}"
            path.unlink(missing_ok=True)
            journal = jn.Journal(path)
            for row in rows:
                journal.write(*row)
            journal.close()
            made.lives.append((incarnation, SimpleNamespace(code=0), path))
        return made

    return make


def got(*rows, lost: int = 0) -> list[tuple]:
    return [(jn.GOT, seq, incarnation, counter, lost) for seq, incarnation, counter in rows]


MESSAGES = [(0, SENDER, 0), (1, SENDER, 1), (2, SENDER, 2)]
SENT = [(jn.SENT, counter, seq, 1) for seq, _, counter in MESSAGES]


def topic(part, witness=MESSAGES, other=MESSAGES, lossy=None, cursor=None) -> None:
    lossy = lossy or [(jn.START, 0), *got((0, SENDER, 0)), *got((2, SENDER, 2), lost=1)]
    cursor = cursor or [
        [(jn.START, 0), *got(MESSAGES[0]), (jn.COMMIT, 1)],
        [(jn.START, 1), *got(*MESSAGES[1:])],
    ]
    audit = Audit(
        [
            part("sender", "publisher", SENT, first=SENDER),
            part(
                "witness",
                "reader",
                [(jn.START, 0), *got(*witness), (jn.END, len(witness), 0, 0, 3)],
                first=10,
            ),
            part("other", "reader", [(jn.START, 0), *got(*other)], first=20),
            part("lossy", "reader", lossy, first=30),
            part("cursor", "reader", *cursor, first=40),
        ]
    )
    audit.nothing_is_corrupt_or_uncommitted()
    audit.order_is_kept()
    audit.sequences_are_as_reported()
    audit.witness_received_all_that_was_committed("witness")
    audit.reliable_reader_has_no_gaps("other")
    audit.gaps_are_counted("lossy")
    audit.cursor_goes_on_where_it_committed("cursor")
    audit.account_is_exact("witness", {"tail": 3, "published": 3})


def test_a_storm_in_order_passes(part):
    topic(part)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"other": [MESSAGES[0], MESSAGES[2]]}, "has a gap"),
        ({"other": [MESSAGES[0], (1, SENDER, 2), MESSAGES[2]]}, "sequence 1 is"),
        ({"other": [*MESSAGES, (3, bodies.TORN, 0)]}, "arrived torn"),
        ({"other": [*MESSAGES, (3, bodies.CHANGED, 0)]}, "changed while it was held"),
        ({"other": [*MESSAGES, (3, SENDER | bodies.POISON, 3)]}, "never committed"),
        ({"other": [*MESSAGES, (3, 99, 3)]}, "comes from nobody"),
        ({"other": [*MESSAGES, (3, SENDER, 9)]}, "never sent its 9"),
        ({"other": [*MESSAGES, MESSAGES[2]]}, "went back"),
        ({"witness": MESSAGES[:2], "other": MESSAGES[:2], "lossy": [(jn.START, 0)]}, "never received"),
        ({"lossy": [(jn.START, 0), *got(MESSAGES[0], MESSAGES[2], lost=0)]}, "0 lost in 1"),
        ({"lossy": [(jn.START, 0), *got(MESSAGES[0]), *got(MESSAGES[2], lost=2)]}, "2 lost in 1"),
        ({"cursor": [[(jn.START, 0), *got(MESSAGES[0]), (jn.COMMIT, 1)], [(jn.START, 2)]]}, "began at 2"),
    ],
)
def test_a_fault_of_a_topic_is_seen(part, fault, told):
    with pytest.raises(AssertionError, match=told):
        topic(part, **fault)


CELLS_STATS = {"received": 2, "lost": 1, "skipped": 0, "position": 3, "puts": 3, "depth": 3}


def cells(part, rows=((0, SENDER, 0), (2, SENDER, 2)), **stats) -> None:
    writer = part("writer", "cells_writer", SENT, first=SENDER)
    reader = part("reader", "cells_reader", got(*rows[:1]), got(*rows[1:]))
    structures_audit.cells(writer, reader, {**CELLS_STATS, **stats})


def test_cells_in_order_pass(part):
    cells(part)
    cells(part, rows=((jn.UNKNOWN, SENDER, 0), (jn.UNKNOWN, SENDER, 2)))


@pytest.mark.parametrize(
    "fault",
    [
        {"rows": ((0, SENDER, 0), (0, SENDER, 0))},
        {"rows": ((2, SENDER, 2), (0, SENDER, 0))},
        {"rows": ((0, SENDER, 0), (2, bodies.TORN, 0))},
        {"rows": ((0, SENDER, 0), (2, bodies.CHANGED, 0))},
        {"rows": ((0, SENDER, 0), (2, SENDER | bodies.POISON, 2))},
        {"rows": ((0, SENDER, 0), (1, SENDER, 2))},
        {"rows": ((0, SENDER, 0), (2, 99, 2))},
        {"lost": 0},
        {"received": 1, "lost": 2},
        {"position": 9, "puts": 9, "lost": 7},
    ],
)
def test_a_fault_of_cells_is_seen(part, fault):
    with pytest.raises(AssertionError):
        cells(part, **fault)


def frames(part, witness=MESSAGES, other=MESSAGES[1:], end=(3, 0), total: int = 3) -> None:
    writer = part("writer", "frame_writer", SENT, first=SENDER)
    reader = part("reader", "frame_reader", [*got(*witness), (jn.END, *end, 0)], mortal=False)
    structures_audit.frames(writer, [reader, part("mortal", "frame_reader", got(*other), first=20)], total)


def test_frames_in_order_pass(part):
    frames(part)
    frames(part, witness=[MESSAGES[0], MESSAGES[2]], end=(2, 1))


@pytest.mark.parametrize(
    "fault",
    [
        {"other": [(1, SENDER, 2)]},
        {"other": [(1, bodies.TORN, 0)]},
        {"other": [(1, bodies.CHANGED, 0)]},
        {"other": [MESSAGES[1], MESSAGES[1]]},
        {"witness": [MESSAGES[0], MESSAGES[2]], "end": (2, 0)},
        {"end": (2, 1)},
        {"total": 2},
        {"total": 9, "end": (3, 6)},
    ],
)
def test_a_fault_of_frames_is_seen(part, fault):
    with pytest.raises(AssertionError):
        frames(part, **fault)


def calls(part, served, client=((jn.SENT, 0, 0, 1), (jn.MAYBE, 1)), mortal: bool = True):
    server = part("server", "server", [(jn.GOT, number, 20, number) for number in served], mortal=mortal)
    return structures_audit.calls(server, [part("client", "client", list(client), first=20)])


def test_calls_in_order_pass(part):
    assert calls(part, [0]) == calls(part, [0, 1]) == (1, 1)


@pytest.mark.parametrize(
    "fault",
    [
        {"served": [0, 0]},
        {"served": [1]},
        {"served": [0], "client": [(jn.SENT, 0, 1, 1)]},
        {"served": [0], "mortal": False},
    ],
)
def test_a_fault_of_calls_is_seen(part, fault):
    with pytest.raises(AssertionError):
        calls(part, **fault)


@pytest.mark.parametrize("take", ["recv", "recv_many", "view", "wait"])
def test_a_reader_in_c_tells_whole_bodies_from_torn_ones(bus, bus_root, tmp_path, participants, take):
    body, torn = bodies.make(7, 0, 300), bytearray(bodies.make(7, 2, 300))
    torn[200] ^= 1
    with bus.publisher("t", sender="i7", delivery="reliable") as pub:
        for one in (body, bytes(torn), bodies.make(7, 4, 300), bodies.make(8, 6, 300)):
            pub.send(one, type=TYPES[0])
        Board(tmp_path / "board").close()
        arguments = ["reader", str(bus_root / "test"), "t", "0", "9", "0", str(tmp_path / "board")]
        arguments += [str(tmp_path / "journal"), take, "oldest", "-1", "0", "", ""]
        board = Board(tmp_path / "board")
        board.order_end(4)
        reader = Process([os.environ[native.PROGRAM], *arguments], dict(os.environ))
        reader.join()
        board.close()
    rows = [row[1:4] for row in jn.read(tmp_path / "journal") if row[0] == jn.GOT]
    assert rows == [(0, 7, 0), (1, bodies.TORN, 2), (2, 7, 4), (3, bodies.TORN, 6)]
    assert slipring.Bus("test", root=str(bus_root)).stats("t")["published"] == 4
