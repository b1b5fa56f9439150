# SPDX-License-Identifier: Apache-2.0
"""Listing topics, their statistics and their removal: topics, stats, remove, TopicGone, doctor."""

import os

import pytest

import slipring

pytestmark = pytest.mark.needs("tables")

SMALL = {"capacity": 4096, "slots": 16}


def test_topics_are_listed_by_name(bus):
    assert bus.topics() == []
    for name in ("b", "a", "c.d"):
        bus.create(name, **SMALL)
    assert sorted(bus.topics()) == ["a", "b", "c.d"]
    bus.remove("b")
    assert sorted(bus.topics()) == ["a", "c.d"]


def test_statistics_describe_the_topic(bus):
    before = bus.clock.time_ns()
    bus.create("t", delivery="reliable", writers="one", max_readers=5, max_writers=7, max_cursors=3, **SMALL)
    stats = bus.stats("t")
    assert {name: stats[name] for name in ("delivery", "writers", "capacity", "slots")} == {
        "delivery": "reliable", "writers": "one", "capacity": 4096, "slots": 16
    }  # fmt: skip
    assert (stats["max_readers"], stats["max_cursors"]) == (5, 3)
    assert before - 10**9 <= stats["created_ns"] <= bus.clock.time_ns() + 10**9
    counters = ("published", "abandoned", "bytes", "oldest", "tail", "retained")
    assert [stats[name] for name in counters] == [0] * 6
    assert stats["publishers"] == stats["readers"] == stats["cursors"] == []


def test_statistics_count_what_was_published(bus):
    with bus.publisher("t", sender="p", **SMALL) as pub:
        for size in range(40):
            pub.send(bytes(size))
        stats = bus.stats("t")
        (entry,) = stats["publishers"]
        assert (entry["pid"], entry["alive"], entry["sender"]) == (os.getpid(), True, "p")
        assert (entry["published"], entry["bytes"]) == (40, sum(range(40)))
    stats = bus.stats("t")
    assert (stats["published"], stats["bytes"], stats["tail"]) == (40, sum(range(40)), 40)
    assert stats["retained"] == stats["tail"] - stats["oldest"]
    assert 1 <= stats["retained"] <= 15
    assert stats["publishers"] == []


@pytest.mark.needs("reader statistics")
def test_statistics_show_each_reader(bus):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    reliable, tap = bus.subscriber("t"), bus.subscriber("t", lossy=True)
    pub.send_many([b"x"] * 3)
    reliable.recv(timeout=0)
    readers = bus.stats("t")["readers"]
    assert len(readers) == 2
    assert {reader["pid"] for reader in readers} == {os.getpid()}
    assert all(reader["alive"] for reader in readers)
    assert sorted((reader["position"], reader["lag"], reader["received"]) for reader in readers) == [
        (0, 3, 0), (1, 2, 1)
    ]  # fmt: skip
    assert len({reader["kind"] for reader in readers}) == 2
    with tap.view(timeout=0):
        held = [reader["held"] for reader in bus.stats("t")["readers"]]
        assert sum(hold is not None and hold is not False for hold in held) >= 1
    tap.close()
    reliable.close()
    assert bus.stats("t")["readers"] == []


def test_a_subscriber_has_statistics_of_its_own(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t", ignore_types=["skip"])
    pub.send_many([b"x"] * 3)
    pub.send(b"x", type="skip")
    sub.recv_many(9)
    stats = sub.stats()
    assert (stats["received"], stats["lost"], stats["filtered"], stats["lag"]) == (3, 0, 1, 0)
    assert stats["entry"] is not None


@pytest.mark.parametrize("call", ["stats", "remove", "cursors"])
def test_a_missing_topic_is_an_error_with_its_name(bus, call):
    with pytest.raises(slipring.TopicNotFound, match="nowhere"):
        getattr(bus, call)("nowhere")
    assert bus.topics() == []


def test_removing_a_missing_topic_may_be_allowed(bus):
    bus.remove("nowhere", missing_ok=True)


@pytest.mark.parametrize("unread", [0, 3])
def test_users_of_a_removed_topic_get_topic_gone_at_once(bus, unread):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send_many([b"x"] * unread)
    bus.remove("t")
    for use in (lambda: pub.send(b"x"), lambda: pub.send_many([b"x"]), lambda: sub.recv(timeout=0)):
        with pytest.raises(slipring.TopicGone, match="t"):
            use()
    for use in (lambda: sub.recv_many(1), lambda: sub.recv_batch(1), lambda: next(iter(sub))):
        with pytest.raises(slipring.TopicGone):
            use()
    with pytest.raises(slipring.TopicGone):
        slipring.wait([sub], timeout=0)
    pub.close()
    sub.close()


def test_waiters_of_a_removed_topic_are_released(bus, background):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    slow, sub = bus.subscriber("t"), bus.subscriber("t")
    pub.send_many([b"x"] * 15)
    sub.recv_many(100)
    waits = [background(sub.recv), background(pub.send, b"x"), background(slipring.wait, [sub])]
    for waiting in waits:
        waiting.wait_until_asleep()
    bus.remove("t")
    for waiting in waits:
        with pytest.raises(slipring.TopicGone):
            waiting.result()
    slow.close()


def test_a_topic_created_again_is_another_one(bus):
    old_pub, old_sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    first = bus.stats("t")["generation"]
    old_pub.send(b"old")
    bus.remove("t")
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t", start="oldest")
    assert bus.stats("t")["generation"] != first
    assert pub.send(b"new") == 0
    assert sub.recv(timeout=0).body == b"new"
    for use in (lambda: old_pub.send(b"x"), lambda: old_sub.recv(timeout=0)):
        with pytest.raises(slipring.TopicGone):
            use()


def test_a_doctor_finds_nothing_on_a_healthy_bus(bus):
    assert bus.doctor() == []
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send(b"x")
    sub.recv(timeout=0)
    assert bus.doctor() == bus.doctor(repair=True) == []
    pub.close()
    sub.close()
    assert bus.doctor() == []
    assert bus.topics() == ["t"]
