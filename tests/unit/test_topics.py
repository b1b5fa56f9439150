# SPDX-License-Identifier: Apache-2.0
"""Topics as files: listing, statistics, removal and deletion."""

from pathlib import Path

import pytest

import slipring
from support.waiting import eventually

SMALL = {"capacity": 4096, "slots": 16}


@pytest.mark.foreign_files
def test_other_files_are_not_listed_as_topics(bus):
    bus.create("t", **SMALL)
    for name in ("notes.txt", ".ring", "-x.ring", "half.readers", "no ring.ring"):
        Path(bus.path, name).write_bytes(b"")
    assert bus.topics() == ["t"]


def test_buses_with_different_names_do_not_see_each_other(bus_root):
    with slipring.Bus("a", root=bus_root) as a, slipring.Bus("b", root=bus_root) as b:
        sub = b.subscriber("t")
        a.publisher("t", **SMALL).send(b"x")
        assert (a.topics(), b.topics()) == (["t"], [])
        assert sub.recv(timeout=0) is None


def test_statistics_never_touch_the_topic(bus):
    bus.publisher("t", **SMALL).send(b"x")
    files = [Path(bus.path, name) for name in ("t.ring", "t.readers")]
    before = [path.read_bytes() for path in files]
    bus.stats("t")
    bus.cursors("t")
    bus.topics()
    assert [path.read_bytes() for path in files] == before


def test_a_removed_topic_leaves_no_file(bus):
    bus.publisher("t", **SMALL).send(b"x")
    bus.remove("t")
    assert list(Path(bus.path).iterdir()) == []


@pytest.mark.parametrize("kind", ["waiting", "polling", "sending"])
def test_a_topic_deleted_under_its_users_is_noticed(bus, kind):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    for name in ("t.ring", "t.readers"):
        Path(bus.path, name).unlink()

    def told(use) -> bool:
        try:
            use()
        except slipring.TopicGone:
            return True
        return False

    if kind == "waiting":
        with pytest.raises(slipring.TopicGone):
            sub.recv(timeout=None)
    elif kind == "polling":
        eventually(lambda: told(lambda: sub.recv(timeout=0.01)), "a poller being told")
    else:
        eventually(lambda: told(lambda: pub.send(b"x")), "a publisher being told")


@pytest.mark.foreign_files
def test_a_doctor_names_a_foreign_file_and_changes_no_topic(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    Path(bus.path, "junk.ring").write_bytes(b"not a ring" * 1000)
    findings = bus.doctor()
    assert any(finding["topic"] == "junk" for finding in findings)
    assert all({"topic", "problem", "action"} <= set(finding) for finding in findings)
    assert all(finding["topic"] != "t" for finding in findings)
    bus.doctor(repair=True)
    pub.send(b"x")
    assert sub.recv(timeout=0).body == b"x"
