# SPDX-License-Identifier: Apache-2.0
"""Random SIGKILLs, and every message accounted for (promise 9, invariants 1 to 5 and 8)."""

import shutil

import pytest

import slipring
from crash.audit import Audit
from crash.company import KILLS, PRELOAD, SECONDS, Part, epochs
from crash.fleet import Fleet
from crash.storm import Storm

pytestmark = pytest.mark.timeout(600 + 2 * SECONDS + KILLS)  # a watchdog

IN_PYTHON_ALONE = ("recv_batch", "recv_into")
SMALL_RING = {"capacity": "64KiB", "slots": 256}
ALL_WAYS = ["send", "send", "send_many", "loan"]


def publisher(name: str, ways: list[str], mortal: bool = True) -> Part:
    return Part(name, "publisher", {"ways": ways, "largest": 16000}, mortal)


def reader(name: str, take: str, mortal: bool = True, **settings) -> Part:
    return Part(name, "reader", {"take": take, "settings": settings}, mortal)


def witness() -> Part:
    return reader("witness", "recv_many", mortal=False, start="oldest")


def choose_languages(parts: list[Part], epoch: int) -> list[Part]:
    """Every second one is in C, the others the next time."""
    for number, part in enumerate(parts):
        has_both = part.target in ("publisher", "reader") and part.config.get("take") not in IN_PYTHON_ALONE
        part.in_c = has_both and (number + epoch) % 2 == 1
    return parts


@pytest.fixture
def storm_over(bus_root, tmp_path, tally, participants):
    """Runs storms over one topic for a share of the time; yields audit, counters and kills of each."""

    def run(parts_of, shares=epochs, during=Storm.kill_for, **topic_settings):
        for epoch, seconds, kills in shares():
            topic = f"storm{epoch}"
            with slipring.Bus("test", root=str(bus_root)) as bus:
                bus.create(topic, **topic_settings)
            work = tmp_path / topic
            work.mkdir()
            with Fleet(preload=PRELOAD) as fleet:
                storm = Storm(fleet, bus_root, work, topic, choose_languages(parts_of(), epoch))
                storm.start_all()
                storm.expect_progress()
                tally.time(storm, lambda s=storm, t=seconds, k=kills: during(s, t, k))
                stats = storm.finish()
                storm.close()
            audit = Audit(storm.parts)
            received = sum(len(reading.rows) for reading in audit.each())
            print(
                f"{topic}: {storm.kills} kills, {len(audit.truth)} messages, {stats['abandoned']} abandoned"
            )
            yield audit, stats, storm.kills
            tally.add(storm, messages=len(audit.truth), receptions=received)
            shutil.rmtree(work)
            _leave_nothing(bus_root, topic)

    return run


def _leave_nothing(bus_root, topic: str) -> None:
    with slipring.Bus("test", root=str(bus_root)) as bus:
        assert bus.doctor() == []
        assert {path.name for path in (bus_root / "test").iterdir()} == {f"{topic}.ring", f"{topic}.readers"}
        bus.remove(topic)
        assert list((bus_root / "test").iterdir()) == []


def check_all(audit: Audit, stats: dict, kills: int) -> None:
    audit.nothing_is_corrupt_or_uncommitted()
    audit.order_is_kept()
    audit.sequences_are_as_reported()
    assert stats["published"] + stats["abandoned"] == stats["tail"], stats
    assert stats["published"] >= len(audit.truth)
    assert audit.aborted <= stats["abandoned"] <= audit.aborted + 12 * kills


def check_reliable(audit: Audit, stats: dict, kills: int) -> None:
    check_all(audit, stats, kills)
    audit.witness_received_all_that_was_committed("witness")
    audit.account_is_exact("witness", stats)
    assert stats["published"] == len(audit.truth)


def wants_even(reading, incarnation: int, counter: int) -> bool:
    return counter % 2 == 0


def wants_others(reading, incarnation: int, counter: int) -> bool:
    return incarnation != reading.incarnation


def reliable_readers() -> list[Part]:
    return [
        witness(),
        reader("copying", "recv", start="oldest"),
        reader("holding", "view"),
        reader("waiting", "wait"),
        reader("filtering", "recv_into", start="oldest", types=["even"]),
        reader("cursor", "recv_many", start="oldest", cursor="c"),
        reader("batching_reader", "recv_batch"),
        reader("tap", "recv", lossy=True),
    ]


def check_reliable_readers(audit: Audit) -> None:
    for name in ("witness", "copying", "holding", "waiting", "batching_reader"):
        audit.reliable_reader_has_no_gaps(name)
    audit.reliable_reader_has_no_gaps("filtering", wants_even)
    audit.cursor_goes_on_where_it_committed("cursor")
    audit.gaps_are_counted("tap")


def test_kills_lose_nothing_on_a_reliable_topic_of_many_writers(storm_over):
    def parts() -> list[Part]:
        return [
            publisher("steady", ALL_WAYS, mortal=False),
            publisher("sending", ["send"]),
            publisher("batching", ["send_many"]),
            publisher("lending", ["loan"]),
            *reliable_readers(),
        ]

    for audit, stats, kills in storm_over(parts, delivery="reliable", **SMALL_RING):
        check_reliable(audit, stats, kills)
        check_reliable_readers(audit)


def test_kills_lose_nothing_on_a_reliable_topic_of_one_writer(storm_over):
    def parts() -> list[Part]:
        return [publisher("only", ALL_WAYS), *reliable_readers()]

    for audit, stats, kills in storm_over(parts, delivery="reliable", writers="one", **SMALL_RING):
        check_reliable(audit, stats, kills)
        check_reliable_readers(audit)


def lossy_readers() -> list[Part]:
    return [
        reader("witness", "recv", mortal=False, start="oldest"),
        reader("filtered_witness", "recv_many", mortal=False, start="oldest", types=["odd"]),
        reader("newest_witness", "recv", mortal=False, start="oldest", conflate=True),
        reader("copying", "recv", start="oldest"),
        reader("holding", "view"),
        reader("waiting", "wait", start="last"),
        reader("into", "recv_into"),
    ]


def check_lossy(audit: Audit, stats: dict, kills: int) -> None:
    check_all(audit, stats, kills)
    for name in ("witness", "filtered_witness", "newest_witness"):
        audit.account_is_exact(name, stats)
    for name in ("witness", "copying", "holding", "waiting", "into"):
        audit.gaps_are_counted(name)


def test_kills_leave_only_counted_gaps_on_a_lossy_topic_of_many_writers(storm_over):
    def parts() -> list[Part]:
        return [
            publisher("steady", ALL_WAYS, mortal=False),
            publisher("sending", ["send"]),
            publisher("batching", ["send_many"]),
            publisher("lending", ["loan"]),
            *lossy_readers(),
        ]

    for audit, stats, kills in storm_over(parts, delivery="lossy", **SMALL_RING):
        check_lossy(audit, stats, kills)


def test_kills_leave_only_counted_gaps_on_a_lossy_topic_of_one_writer(storm_over):
    def parts() -> list[Part]:
        return [publisher("only", ALL_WAYS), *lossy_readers()]

    for audit, stats, kills in storm_over(parts, delivery="lossy", writers="one", **SMALL_RING):
        check_lossy(audit, stats, kills)


def test_killed_members_of_a_conversation_leave_the_others_complete(storm_over):
    """All members send and receive on a ring smaller than one round (promise 16)."""

    def parts() -> list[Part]:
        members = [Part(f"member{i}", "member", {"largest": 3000}, mortal=i > 0) for i in range(4)]
        return [*members, witness(), reader("holding", "view")]

    for audit, stats, kills in storm_over(parts, delivery="reliable", capacity=4096, slots=16):
        check_reliable(audit, stats, kills)
        for name in ("member0", "member1", "member2", "member3"):
            audit.reliable_reader_has_no_gaps(name, wants_others)
        audit.account_is_exact("member0", stats)


def test_the_paused_are_not_dead_and_nothing_is_lost_or_changed_for_them(storm_over):
    def parts() -> list[Part]:
        return [
            publisher("sending", ALL_WAYS, mortal=False),
            publisher("lending", ["loan"], mortal=False),
            reader("copying", "recv", mortal=False, start="oldest"),
            reader("holding", "view", mortal=False, start="oldest"),
            witness(),
        ]

    settings = {
        "shares": lambda: [(0, 4.0, 0)],
        "during": Storm.pause_for,
        "delivery": "reliable",
        **SMALL_RING,
    }
    for audit, stats, kills in storm_over(parts, **settings):
        check_reliable(audit, stats, kills)
        assert stats["abandoned"] == audit.aborted, "a paused publisher's message was given up"
        for name in ("copying", "holding", "witness"):
            audit.reliable_reader_has_no_gaps(name)


def test_the_paused_see_exact_losses_on_a_lossy_topic(storm_over):
    def parts() -> list[Part]:
        return [
            publisher("sending", ALL_WAYS, mortal=False),
            publisher("lending", ["loan"], mortal=False),
            reader("witness", "recv", mortal=False, start="oldest"),
            reader("holding", "view", mortal=False, start="oldest"),
            reader("newest", "recv", mortal=False, start="oldest", conflate=True),
        ]

    settings = {"shares": lambda: [(0, 4.0, 0)], "during": Storm.pause_for, "delivery": "lossy", **SMALL_RING}
    for audit, stats, kills in storm_over(parts, **settings):
        check_all(audit, stats, kills)
        assert stats["abandoned"] == audit.aborted, "a paused publisher's message was given up"
        audit.account_is_exact("newest", stats)
        for name in ("witness", "holding"):
            audit.account_is_exact(name, stats)
            audit.gaps_are_counted(name)
