# SPDX-License-Identifier: Apache-2.0
"""A topic deleted under use is noticed by all who use it (promise 18)."""

import os
import shutil

import pytest

import slipring
from support.waiting import eventually

pytestmark = pytest.mark.foreign_files


def delete_files(bus, bus_root) -> None:
    """As logind's RemoveIPC or `rm` do."""
    for name in ("t.ring", "t.readers"):
        (bus_root / "test" / name).unlink()


def delete_bus(bus, bus_root) -> None:
    shutil.rmtree(bus_root / "test")


def remove(bus, bus_root) -> None:
    bus.remove("t")


def replace(bus, bus_root) -> None:
    """The topic is there again before anybody looks: it is another one."""
    delete_files(bus, bus_root)
    bus.create("t", delivery="reliable")


WAYS = [delete_files, delete_bus, remove, replace]


def gone(call) -> bool:
    """Return whether the call raises TopicGone. Deletion by others may be noticed later, without another error."""
    try:
        call()
    except slipring.TopicGone:
        return True
    return False


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_a_send_reports_that_its_topic_is_gone(bus, bus_root, way, delivery):
    pub = bus.publisher("t", delivery=delivery)
    pub.send(b"m")
    way(bus, bus_root)
    if way is remove:
        with pytest.raises(slipring.TopicGone):
            pub.send(b"m")
    for call in (lambda: pub.send(b"m"), lambda: pub.send_many([b"m"]), lambda: pub.loan(8).__enter__()):
        eventually(lambda call=call: gone(call), "TopicGone")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writers", ["one", "many"])
def test_a_send_that_waits_for_room_reports_that_its_topic_is_gone(bus, bus_root, background, way, writers):
    pub = bus.publisher("t", delivery="reliable", capacity=4096, slots=16, writers=writers)
    sub = bus.subscriber("t")
    for _ in range(15):
        pub.send(b"m")
    blocked = background(pub.send, b"m")
    blocked.wait_until_asleep()
    way(bus, bus_root)
    with pytest.raises(slipring.TopicGone):
        blocked.result()
    sub.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_wait_for_subscribers_reports_that_the_topic_is_gone(bus, bus_root, background, way):
    pub = bus.publisher("t", delivery="reliable")
    waiting = background(pub.wait_for_subscribers, 1)
    waiting.wait_until_asleep()
    way(bus, bus_root)
    with pytest.raises(slipring.TopicGone):
        waiting.result()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wait", ["recv", "view", "recv_many", "recv_into", "iteration", "wait"])
def test_a_waiting_receiver_reports_that_its_topic_is_gone(bus, bus_root, processes, way, wait):
    bus.create("t", delivery="reliable")
    child = processes.start(
        """
        sub = bus.subscriber("t")
        say("there")
        def waited():
            slipring.wait([sub])
            sub.recv(timeout=0)
        try:
            {
                "recv": sub.recv,
                "view": lambda: sub.view().__enter__(),
                "recv_many": lambda: sub.recv_many(10, timeout=None),
                "recv_into": lambda: sub.recv_into(bytearray(10)),
                "iteration": lambda: next(iter(sub)),
                "wait": waited,
            }[wait]()
            say("returned")
        except slipring.TopicGone:
            say("gone")
        """,
        wait=wait,
    )
    child.expect("there")
    child.wait_until_asleep()
    way(bus, bus_root)
    child.expect("gone")
    child.join()


@pytest.mark.parametrize("way", [delete_files, remove, replace])
def test_a_receiver_without_an_entry_reports_that_its_topic_is_gone(bus, bus_root, background, way):
    bus.create("t", delivery="reliable", max_readers=1)
    with bus.subscriber("t", lossy=True):
        extra = bus.subscriber("t", lossy=True)
        assert extra.stats()["entry"] is None
        waiting = background(extra.recv)
        waiting.wait_until_asleep()
        way(bus, bus_root)
        with pytest.raises(slipring.TopicGone):
            waiting.result()


def test_those_who_come_after_a_replacement_meet_in_the_new_topic(bus, bus_root):
    old = bus.publisher("t", delivery="reliable")
    old.send(b"old")
    generation = bus.stats("t")["generation"]
    replace(bus, bus_root)
    assert bus.stats("t")["generation"] != generation
    with bus.subscriber("t", start="oldest") as sub, bus.publisher("t") as new:
        eventually(lambda: gone(lambda: old.send(b"late")), "TopicGone")
        new.send(b"new")
        assert sub.recv(timeout=60).body == b"new"


@pytest.mark.parametrize("name", ["t.ring", "t.readers"])
def test_one_file_deleted_is_noticed_too(bus, bus_root, background, name):
    pub = bus.publisher("t", delivery="reliable")
    sub = bus.subscriber("t")
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    os.unlink(bus_root / "test" / name)
    with pytest.raises(slipring.TopicGone):
        waiting.result()
    eventually(lambda: gone(lambda: pub.send(b"m", timeout=0)), "TopicGone")
