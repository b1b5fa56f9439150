# SPDX-License-Identifier: Apache-2.0
"""The audit of a soak on constructed journals: correct ones pass, and each planted fault fails its claim."""

import numpy
import pytest

from soak import audit, figures, flatness, page, plan
from storm import bodies
from storm.audit import Life, Topic
from storm.journal import RECORD, TORN, Kind

SENDER, KILLED, READER, LOSER = 1, 2, 3, 4  # sequence 3 is an aborted loan, so that 8 is the tail


def who(counter: int, life: int = SENDER) -> int:
    return bodies.identity(life, counter)


def life(name: str, topic: int, number: int, records: list[tuple], killed: bool = False) -> Life:
    rows = [
        (int(kind), topic, b"", at, *values, *[0] * (4 - len(values)))
        for at, (kind, *values) in enumerate(records)
    ]
    return Life(name, number, -9 if killed else 0, killed, numpy.array(rows, dtype=RECORD))


def sent() -> list[tuple]:
    """Counters 1, 2, 3, an aborted 6, a batch of 4 and 5 (the first of it at 4), 7."""
    return [
        (Kind.BEGAN,),
        (Kind.SENT, 0, who(1), 1),
        (Kind.SENT, 1, who(2), 1),
        (Kind.SENT, 2, who(3), 1),
        (Kind.ABORTED, 0, who(6)),
        (Kind.SENT, 5, who(5), 2),
        (Kind.SENT, 7, who(7), 1),
    ]


IDENTITIES = {0: who(1), 1: who(2), 2: who(3), 4: who(4), 5: who(5), 6: who(1, KILLED), 7: who(7)}


def rows(seqs, changed: dict | None = None) -> list[tuple]:
    return [(Kind.RECEIVED, seq, (changed or {}).get(seq, IDENTITIES[seq]), 0, 100) for seq in seqs]


class Run:
    """A lossy and a reliable topic with the same traffic. A test changes one record."""

    def __init__(self) -> None:
        self.stats = {topic: {"published": 7, "abandoned": 1, "tail": 8} for topic in plan.TOPICS}
        self.sent = sent()
        self.got = rows(IDENTITIES)
        self.cursor = [
            [(Kind.STARTED, 0), *rows([0, 1]), (Kind.COMMITTED, 2), *rows([2])],
            [(Kind.STARTED, 2), *rows([2, 4, 5, 6, 7]), (Kind.COUNTED, 8, 5), (Kind.ENDED,)],
        ]
        self.lossy_got = rows([0, 1, 6, 7])
        self.account = (Kind.COUNTED, 8, 4, 3, 0)
        self.conflated = [(Kind.COUNTED, 6, 1, 0, 3), (Kind.COUNTED, 8, 1, 0, 6)]  # one is counted later
        self.whole = (Kind.COUNTED, 8, 7)
        self.code = 0

    def claims(self) -> dict[str, bool]:
        lives = [
            life("lossy-steady", 0, SENDER, sent()),
            life("lossy-mortal-c", 0, KILLED, [(Kind.BEGAN,)], killed=True),
            life(
                "lossy-napping", 0, LOSER, [(Kind.STARTED, 0), *self.lossy_got, self.account, (Kind.ENDED,)]
            ),
            life(
                "lossy-into",
                0,
                READER,
                [(Kind.STARTED, 0), *rows(IDENTITIES), (Kind.COUNTED, 8, 7), (Kind.ENDED,)],
            ),
            life(plan.CONFLATING, 0, 20, [(Kind.STARTED, 0), *rows([5]), *self.conflated, (Kind.ENDED,)]),
            life("reliable-steady-c", 1, SENDER, self.sent),
            life("reliable-mortal", 1, KILLED, [(Kind.BEGAN,)], killed=True),
            life("reliable-batch", 1, READER, [(Kind.STARTED, 0), *self.got, self.whole, (Kind.ENDED,)]),
            *(life("reliable-cursor", 1, 10 + n, records) for n, records in enumerate(self.cursor)),
        ]
        lives[-1].code = self.code
        topics = audit.topics_of(lives, self.stats)
        found = audit.examine(lives, topics, self.stats, "")
        return {claim.title: claim.passed for claim in found}

    def failed(self) -> set[str]:
        return {title for title, passed in self.claims().items() if not passed}


DEATH, KNOWN, CORRUPT = (
    "Only killed processes died",
    "Every committed message is in the journals",
    "0 corrupt",
)
UNCOMMITTED, ORDER = "Nothing uncommitted was seen", "One order for all, each sender's kept"
LOST, CURSOR = "Reliable: 0 lost", "The cursor's reader missed nothing across its kills"
COUNTED, SOME = "Lossy: losses equal counted gaps", "There were losses to count"


@pytest.fixture
def run() -> Run:
    return Run()


def test_a_soak_in_order_passes_every_claim(run):
    assert run.failed() == set()


def test_a_message_missing_for_one_reliable_reader_is_seen(run):
    run.got = rows([0, 1, 2, 4, 6, 7])
    assert run.failed() == {LOST}


def test_a_sent_message_that_nobody_read_is_seen(run):
    run.sent.append((Kind.SENT, 7, who(9), 2))
    assert LOST in run.failed()


def test_a_loss_that_was_not_counted_is_seen(run):
    run.account = (Kind.COUNTED, 8, 4, 2, 0)
    assert run.failed() == {COUNTED}


def test_a_loss_counted_twice_is_seen(run):
    run.account = (Kind.COUNTED, 8, 4, 4, 0)
    assert run.failed() == {COUNTED}


def test_a_message_that_a_conflating_reader_never_counts_is_seen(run):
    run.conflated = [(Kind.COUNTED, 6, 1, 0, 4), (Kind.COUNTED, 8, 1, 0, 5)]
    assert run.failed() == {COUNTED}


def test_a_message_that_a_conflating_reader_counts_twice_is_seen(run):
    run.conflated = [(Kind.COUNTED, 6, 1, 0, 5), (Kind.COUNTED, 8, 1, 0, 6)]
    assert run.failed() == {COUNTED}


def test_a_torn_message_is_seen(run):
    run.got.append((Kind.CORRUPT, 7, 0, TORN))
    assert run.failed() == {CORRUPT}


def test_a_message_that_differs_between_readers_is_seen(run):
    run.got = rows(IDENTITIES, {4: who(3)})
    assert CORRUPT in run.failed()


def test_an_aborted_loan_that_was_read_is_seen(run):
    run.got = [*run.got[:3], (Kind.RECEIVED, 3, who(6) | bodies.POISON, 0, 100), *run.got[3:]]
    assert UNCOMMITTED in run.failed()


def test_a_message_of_an_unknown_sender_is_seen(run):
    run.got = [*run.got[:3], (Kind.RECEIVED, 3, who(1, 99), 0, 100), *run.got[3:]]
    assert UNCOMMITTED in run.failed()


def test_a_reader_that_goes_back_is_seen(run):
    run.got = [*run.got, *rows([7])]
    assert ORDER in run.failed()


def test_a_cursor_that_skips_is_seen(run):
    run.cursor[1] = [(Kind.STARTED, 4), *rows([4, 5, 6, 7]), (Kind.COUNTED, 8, 4), (Kind.ENDED,)]
    assert run.failed() == {CURSOR}


def test_a_message_that_only_the_counters_have_is_seen(run):
    run.stats["lossy"] |= {"published": 8, "tail": 9}
    assert KNOWN in run.failed()


def test_a_process_that_ends_by_itself_is_seen(run):
    run.code = 1
    assert run.failed() == {DEATH}


def lake_of(changed: dict | None = None) -> dict:
    held = {"messages": 7, "lost": 0, "abandoned": 1, "files": 1, "bytes": 1}
    arrays = numpy.array(
        [(seq, (changed or {}).get(seq, one)) for seq, one in IDENTITIES.items()], dtype=numpy.uint64
    )
    topic = {**held, "offsets": arrays[:, 0], "identities": arrays[:, 1]}
    return {"problems": [], "topics": {"lossy": dict(topic), "reliable": dict(topic)}}


@pytest.mark.parametrize(
    ("spoil", "right"),
    [
        (lambda lake: None, True),
        (lambda lake: lake["topics"]["lossy"].update(lost=1), False),
        (lambda lake: lake["topics"]["reliable"].update(messages=6, lost=1), False),
        (lambda lake: lake["topics"].update(lake_of({5: 0})["topics"]), False),
        (lambda lake: lake["problems"].append("a file is missing"), False),
    ],
)
def test_a_recording_that_does_not_add_up_is_seen(run, spoil, right):
    lives = [life("reader", topic, READER, [(Kind.STARTED, 0), *rows(IDENTITIES)]) for topic in (0, 1)]
    topics = [Topic(name, number, 8, lives) for number, name in enumerate(plan.TOPICS)]
    lake = lake_of()
    spoil(lake)
    assert audit.recording_adds_up(topics, run.stats, lake).passed is right


def sample(at_s: float, **spoilt) -> dict:
    process = {"rss_kib": 50_000, "own_kib": 40_000, "descriptors": 7, "cpu_s": at_s / 10}
    process |= {name: value(at_s) for name, value in spoilt.items() if name in process}
    calm = {"rss_kib": 50_000, "own_kib": 40_000, "descriptors": 7, "cpu_s": at_s / 10}
    entries = {"publishers": 4, "readers": 8, "cursors": 1}
    root = {"files": 4, "bytes": 100}
    for name, value in spoilt.items():
        (entries if name in entries else root)[name] = value(at_s) if name in (*entries, *root) else 0
    root = {name: root[name] for name in ("files", "bytes")}
    return {
        "s": at_s,
        "processes": {"one": process, "two": calm},
        "supervisor": calm,
        "fork_server": calm,
        "entries": entries,
        "root": root,
    }


@pytest.mark.parametrize(
    ("spoilt", "claim"),
    [
        ({}, None),
        (
            {"own_kib": lambda s: 40_000 + (60_000 if int(s) % 17 == 0 else 0)},
            None,
        ),  # large messages now and then
        ({"own_kib": lambda s: 40_000 + (4_112 if s > 70 else 0)}, None),  # one more block of a pool
        ({"own_kib": lambda s: 40_000 + 200 * s}, "Memory of survivors and supervisor is flat (KiB)"),
        ({"descriptors": lambda s: 7 + s // 20}, "Descriptors are flat"),
        ({"readers": lambda s: 8 + s // 30}, "Table entries are flat"),
        ({"files": lambda s: 4 + s // 60}, "Files in the bus root are flat"),
        (
            {"cursors": lambda s: 9 if s == 50 else 1},
            "Table entries never exceed live and just killed processes",
        ),
    ],
)
def test_growth_is_seen_and_single_jumps_are_not(spoilt, claim):
    samples = [sample(float(s), **spoilt) for s in range(120)]
    failed = [found.title for found in flatness.examine(samples, most_entries=18) if not found.passed]
    assert failed == ([claim] if claim else [])


def test_a_survivor_that_stalls_is_seen():
    lines = [{"s": 2.0 * n, "gaps_ms": {"one": 30.0, "two": 11_000.0 if n == 7 else 20.0}} for n in range(20)]
    assert not figures.survivors_went_on(lines).passed
    assert figures.survivors_went_on(lines[:7]).passed


@pytest.mark.leaks_allowed("matplotlib keeps its fonts open")
def test_no_title_of_the_plots_is_cut():
    from matplotlib import pyplot

    samples = [sample(float(s)) for s in range(120)]
    samples = [{**one, "recording": one["supervisor"]} for one in samples]
    drawing = page.draw(samples, [], ([0.0], [0], [0]))
    drawing.canvas.draw()
    width = drawing.bbox.width / 2
    titles = {axis.get_title(): axis.title.get_window_extent() for axis in drawing.axes}
    pyplot.close(drawing)
    assert len(titles) == 6
    assert {
        title for title, box in titles.items() if box.width > width or box.x1 > drawing.bbox.width
    } == set()
