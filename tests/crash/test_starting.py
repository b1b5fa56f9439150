# SPDX-License-Identifier: Apache-2.0
"""Processes are killed while they create a topic, attach to it or detach (promise 9)."""

import os
import random
import time

import pytest

import slipring
from storm.board import Board
from storm.fork_server import ForkServer
from support.waiting import eventually

pytestmark = pytest.mark.timeout(600)

LONGEST_S = 0.004


@pytest.fixture
def doomed(bus_root, tmp_path):
    """Start processes by name and kill them after a random delay, most of them in their first calls."""
    board = Board(tmp_path / "board")
    settings = {"root": str(bus_root), "board_path": str(tmp_path / "board")}
    with ForkServer(preload=["crash.starters"]) as server:

        def start(name: str, row: int = 0):
            return server.start(f"crash.starters:{name}", row=row, **settings)

        def doom(*names: str) -> None:
            children = [start(name, row) for row, name in enumerate(names)]
            time.sleep(random.random() * LONGEST_S)  # chooses a random instant; synchronises nothing
            random.shuffle(children)
            for child in children:
                assert child.alive, f"ended by itself with {child.join()}\n{server.errors()}"
                child.kill()

        doom.start, doom.board = start, board
        yield doom
    board.close()


def files(bus_root) -> set[str]:
    return {path.name for path in (bus_root / "test").iterdir()}


def test_topic_killed_in_creation_is_whole_or_absent_and_leaves_no_file(bus, bus_root, doomed):
    for _ in range(200):
        doomed("create")
        if "t" in bus.topics():
            assert bus.stats("t")["capacity"] == 256 << 10
        with bus.publisher("t", capacity="256KiB", delivery="reliable", slots=None) as pub:
            assert pub.send(b"m", timeout=0) == 0
        assert files(bus_root) == {"t.ring", "t.readers"}
        assert bus.doctor() == []
        bus.remove("t")
        assert files(bus_root) == set()


def test_several_creators_killed_at_once_leave_one_topic_that_works(bus, bus_root, doomed):
    for _ in range(60):
        doomed("create", "create", "create_and_remove", "follow")
        with bus.publisher("t", capacity="256KiB", delivery="reliable") as pub:
            with bus.subscriber("t") as sub:
                seq = pub.send(b"m", timeout=60)
                assert sub.recv(timeout=60).seq == seq
            stats = bus.stats("t")
            assert all(entry["alive"] for entry in stats["publishers"] + stats["readers"]), stats
        assert files(bus_root) == {"t.ring", "t.readers"}
        assert bus.doctor() == []
        bus.remove("t")


@pytest.mark.parametrize("delivery", ["reliable", "lossy"])
def test_killed_while_attaching_leaves_no_entry_and_holds_nobody_back(bus, doomed, delivery):
    ring = {"capacity": "64KiB", "slots": 1024, "max_readers": 6, "max_writers": 4}
    pub = bus.publisher("t", delivery=delivery, **ring)
    sub = bus.subscriber("t", start="oldest")
    survivor = doomed.start("attach", row=9)
    received = 0
    for _ in range(200):
        doomed(*["attach"] * random.choice((1, 1, 2)))
        received += len(sub.recv_many(1 << 20))
        pub.send(b"mine", timeout=60)
        received += len(sub.recv_many(1 << 20))
    before = doomed.board.beats(9)
    eventually(lambda: doomed.board.beats(9) > before, "the survivor going on")
    survivor.kill()
    bus.publisher("t").close()
    bus.subscriber("t").close()
    while got := sub.recv_many(1 << 20):
        received += len(got)
    stats = bus.stats("t")
    assert [entry["pid"] for entry in stats["publishers"]] == [os.getpid()]
    assert [entry["pid"] for entry in stats["readers"]] == [os.getpid()]
    assert received + sub.lost == stats["published"] == stats["tail"] - stats["abandoned"]
    assert sub.lost == 0 or delivery == "lossy"
    assert bus.doctor() == []


def test_doctor_repairing_beside_creators_and_removers_harms_no_topic(bus, bus_root, doomed):
    doctors = [doomed.start("repair", row=row) for row in (1, 2)]
    for number in range(1000):
        with bus.publisher("t", capacity=4096) as pub, bus.subscriber("t", start="oldest") as sub:
            pub.send(b"%d" % number)
            assert sub.recv(timeout=60).body == b"%d" % number
        bus.remove("t")
    assert all(doctor.alive for doctor in doctors)
    assert all(doomed.board.beats(row) > 0 for row in (1, 2))
    assert files(bus_root) == set()


def test_cursor_killed_in_creation_or_commit_is_whole_or_absent_and_free_at_once(bus, doomed):
    pub = bus.publisher("t", capacity="64KiB", slots=1024, delivery="reliable", max_cursors=1)
    reached = 0
    for number in range(200):
        pub.send(b"%d" % number, timeout=60)
        doomed("attach_cursor")
        cursors = bus.cursors("t")
        assert len(cursors) <= 1
        with bus.subscriber("t", cursor="c", start="oldest") as sub:
            assert reached <= sub.position <= number + 1, "a committed position went back or too far"
            got = sub.recv_many(1000)
            assert [m.body for m in got] == [b"%d" % n for n in range(got[0].seq if got else 0, number + 1)][
                : len(got)
            ]
            reached = sub.position if number % 2 and got else reached
            if number % 2 and got:
                sub.commit()
    assert bus.doctor() == []


def test_bus_directory_killed_in_creation_is_usable(bus_root, doomed):
    for number in range(100):
        for name in ("test", "other"):
            for path in (bus_root / name).glob("*"):
                path.unlink()
            if (bus_root / name).exists():
                (bus_root / name).rmdir()
        doomed("create_and_remove")
        with slipring.Bus("test", root=str(bus_root)) as bus:
            assert set(bus.topics()) <= {"t"}
            bus.publisher("t", capacity="256KiB").send(b"%d" % number)
            assert bus.doctor() == []
