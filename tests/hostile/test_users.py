# SPDX-License-Identifier: Apache-2.0
"""File modes are access control: who may publish, who may subscribe, who may not look (promise 17)."""

import os
import stat
from pathlib import Path

import pytest

import slipring
from hostile.users import ANN, BOB, EVE, TEAM, start_as
from support.waiting import eventually

PUBLISH = """
pub = bus.publisher("t", sender="ann", delivery=delivery, capacity=4096, slots=16, mode=mode)
say("there")
while True:
    body = hear()
    try:
        say(pub.send(body, timeout=0))
    except slipring.Full:
        say("full")
"""
SUBSCRIBE = """
sub = bus.subscriber("t", start="oldest")
say("there")
while True:
    hear()
    say(sub.recv(timeout=60).body)
"""
ATTEMPTS = """
say(dict(
    opened=opened,
    publisher=outcome(lambda: bus.publisher("t").send(b"forged")) if bus else opened,
    subscriber=outcome(lambda: bus.subscriber("t", start="oldest").recv(timeout=0)) if bus else opened,
    stats=outcome(lambda: bus.stats("t")) if bus else opened,
    remove=outcome(lambda: bus.remove("t")) if bus else opened,
    create=outcome(lambda: bus.create("t2", capacity=4096)) if bus else opened,
))
hear()
"""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def team_root(bus_root):
    """A bus root of a group: ann and bob work in it, eve is not let in."""
    os.chown(bus_root, 0, TEAM)
    bus_root.chmod(0o2770)
    return bus_root


@pytest.fixture
def open_root(bus_root):
    """A bus root everybody may enter: only the files' own modes stand in eve's way."""
    os.chown(bus_root, 0, TEAM)
    bus_root.chmod(0o2775)
    return bus_root


def publisher(processes, mode: int, delivery: str = "lossy", **how):
    child = start_as(processes, ANN, PUBLISH, mode=mode, delivery=delivery, **how)
    child.expect("there")
    return child


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_default_mode_is_the_owners_only_whatever_the_umask(bus_root, processes, umask):
    os.chown(bus_root, ANN, ANN)
    child = start_as(processes, ANN, "bus.create('t', capacity=4096)\nsay(opened)", umask=umask)
    child.expect("done")
    child.join()
    folder = bus_root / "test"
    assert [mode_of(folder / name) for name in ("t.ring", "t.readers")] == [0o600, 0o600]
    assert (folder / "t.ring").stat().st_uid == ANN


@pytest.mark.parametrize(("mode", "readers"), [(0o640, 0o660), (0o660, 0o660), (0o644, 0o666)])
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_asked_mode_is_kept_whatever_the_umask_and_readers_may_write_their_table(
    team_root, processes, mode, readers, umask
):
    script = "bus.create('t', capacity=4096, mode=mode)\nsay(opened)"
    child = start_as(processes, ANN, script, umask=umask, mode=mode)
    child.expect("done")
    child.join()
    assert mode_of(team_root / "test" / "t.ring") == mode
    assert mode_of(team_root / "test" / "t.readers") == readers
    assert (team_root / "test" / "t.ring").stat().st_gid == TEAM


def test_default_bus_directory_is_closed_to_others(bus_root, processes):
    bus_root.chmod(0o1777)
    new_root = bus_root / "new"
    child = start_as(
        processes, ANN, "bus.create('t', capacity=4096)\nsay(opened)", umask=0, root=str(new_root)
    )
    child.expect("done")
    child.join()
    assert mode_of(new_root) == 0o700
    assert mode_of(new_root / "test") == 0o700


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_group_reads_what_it_may_not_publish(team_root, processes, delivery):
    ann = publisher(processes, 0o640, delivery)
    bob = start_as(processes, BOB, SUBSCRIBE)
    bob.expect("there")
    ann.say(b"for the team")
    ann.expect(0)
    bob.say("read")
    bob.expect(b"for the team")
    attempts = start_as(processes, BOB, ATTEMPTS).hear()
    assert attempts["publisher"] == "Denied"
    assert attempts["remove"] == "Denied"
    assert attempts["subscriber"] == "done"
    assert attempts["stats"] == "done"
    ann.say(b"undisturbed")
    ann.expect(1)
    bob.say("read")
    bob.expect(b"undisturbed")


def test_reader_without_write_permission_maps_the_ring_read_only_and_cannot_change_it(team_root, processes):
    ann = publisher(processes, 0o640)
    bob = start_as(
        processes,
        BOB,
        """
        sub = bus.subscriber("t", start="oldest")
        sub.recv(timeout=0)
        ring = bus.path + "/t.ring"
        outcomes = []
        for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_TRUNC):
            try:
                os.open(ring, flags)
                outcomes.append("opened")
            except PermissionError:
                outcomes.append("refused")
        for name in os.listdir("/proc/self/fd"):          # nor through a descriptor it holds already
            if os.path.exists("/proc/self/fd/" + name) and os.readlink("/proc/self/fd/" + name) == ring:
                try:
                    os.pwrite(int(name), b"forged", 0)
                    outcomes.append("written")
                except OSError:
                    outcomes.append("refused")
        say(outcomes)
        hear()
        """,
    )
    assert set(bob.hear()) == {"refused"}
    maps = [line.split() for line in Path(f"/proc/{bob.pid}/maps").read_text().splitlines()]
    rings = {line[1] for line in maps if line[-1].endswith("t.ring")}
    assert rings == {"r--s"}, f"the ring is mapped {rings}"
    ann.say(b"m")
    ann.expect(0)


def test_owner_maps_the_ring_read_only_too_when_it_only_subscribes(bus, processes):
    bus.create("t")
    child = processes.start("sub = bus.subscriber('t'); sub.recv(timeout=0); say('there'); hear()")
    child.expect("there")
    maps = [line.split() for line in Path(f"/proc/{child.pid}/maps").read_text().splitlines()]
    assert {line[1] for line in maps if line[-1].endswith("t.ring")} == {"r--s"}


def test_the_group_publishes_where_the_mode_allows_it(team_root, processes):
    ann = publisher(processes, 0o660, "reliable")
    bob = start_as(
        processes,
        BOB,
        """
        with bus.publisher("t", sender="bob") as pub, bus.subscriber("t") as sub:
            say(pub.send(b"from bob"))
            say(sub.recv(timeout=60).sender)
        """,
    )
    bob.expect(0)
    bob.expect("bob")
    bob.join()
    ann.say(b"from ann")
    ann.expect(1)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660])
def test_everyone_else_is_denied_by_the_directory(team_root, processes, mode):
    ann = publisher(processes, mode)
    attempts = start_as(processes, EVE, ATTEMPTS).hear()
    assert set(attempts.values()) - {"done"} == {"Denied"}, attempts
    assert {name for name, how in attempts.items() if how == "done"} <= {"opened"}, attempts
    ann.say(b"undisturbed")
    ann.expect(0)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660])
def test_everyone_else_is_denied_by_the_files(open_root, processes, mode):
    ann = publisher(processes, mode)
    before = {path.name: path.read_bytes() for path in (open_root / "test").iterdir()}
    attempts = start_as(processes, EVE, ATTEMPTS).hear()
    for name in ("publisher", "subscriber", "stats", "remove", "create"):
        assert attempts[name] == "Denied", attempts
    assert {path.name: path.read_bytes() for path in (open_root / "test").iterdir()} == before
    ann.say(b"undisturbed")
    ann.expect(0)


def test_teammate_is_denied_a_private_topic(team_root, processes):
    publisher(processes, 0o600)
    attempts = start_as(processes, BOB, ATTEMPTS).hear()
    for name in ("publisher", "subscriber", "stats"):
        assert attempts[name] == "Denied", attempts
    assert attempts["create"] == "done"


def test_denied_is_a_permission_error_too(bus_root, processes):
    bus_root.chmod(0o755)
    child = start_as(
        processes,
        EVE,
        """
        try:
            slipring.Bus("test", root=root).create("t")
        except PermissionError as error:
            say(type(error).__name__, str(error) != "")
        """,
    )
    child.expect(("Denied", True))
    child.join()
    assert list(bus_root.iterdir()) == []


def test_read_only_directory_is_named_and_its_topics_can_still_be_read(bus_root, processes):
    with slipring.Bus("test", root=str(bus_root)) as bus:
        bus.publisher("t", capacity=4096, mode=0o666).send(b"m")
    bus_root.chmod(0o555)
    (bus_root / "test").chmod(0o555)
    attempts = start_as(processes, EVE, ATTEMPTS).hear()
    assert attempts["create"] == "Denied", attempts
    assert attempts["remove"] == "Denied", attempts
    assert attempts["subscriber"] == "done", attempts
    assert sorted(path.name for path in (bus_root / "test").iterdir()) == ["t.readers", "t.ring"]


@pytest.mark.parametrize("mode", [0o640, 0o660])
def test_killed_reader_of_another_user_holds_nobody_back(team_root, processes, mode):
    ann = publisher(processes, mode, "reliable")
    bob = start_as(processes, BOB, SUBSCRIBE)
    bob.expect("there")

    def send() -> str | int:
        ann.say(b"m")
        return ann.hear()

    assert [send() for _ in range(16)] == [*range(15), "full"]
    bob.kill()
    eventually(lambda: send() != "full", "the publisher going on")
