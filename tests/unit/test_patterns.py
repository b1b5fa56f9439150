# SPDX-License-Identifier: Apache-2.0
"""Patterns on shared memory: topics that are damaged, replaced or deleted, forks, and idle waits."""

import os
from pathlib import Path

import pytest

import slipring

SMALL = {"capacity": 4096, "slots": 16}


@pytest.mark.foreign_files
def test_a_topic_that_cannot_be_read_is_reported_once_and_the_others_go_on(bus):
    pub = bus.publisher("cam.good", **SMALL)
    Path(bus.path, "cam.bad.ring").write_bytes(b"garbage" * 1000)
    Path(bus.path, "cam.bad.readers").write_bytes(b"garbage" * 1000)
    sub = bus.subscriber("cam.*")
    pub.send(b"x")
    with pytest.raises((slipring.WrongLayout, slipring.Corrupt), match=r"topic 'cam\.bad' of pattern 'cam"):
        sub.recv(timeout=0)
    assert sub.recv(timeout=0).body == b"x"
    assert sub.recv(timeout=0.1) is None
    assert (sub.topics, sub.stats()["refused"]) == (["cam.good"], ["cam.bad"])


@pytest.mark.foreign_files
def test_a_repaired_topic_is_taken_in_again(bus):
    Path(bus.path).mkdir()
    Path(bus.path, "cam.bad.ring").write_bytes(b"garbage" * 1000)
    sub = bus.subscriber("cam.*")
    with pytest.raises(slipring.SlipringError):
        sub.recv(timeout=0)
    Path(bus.path, "cam.bad.ring").unlink()
    assert sub.recv(timeout=0) is None
    bus.publisher("cam.bad", **SMALL).send(b"good now")
    assert sub.recv(timeout=10).body == b"good now"


def test_no_message_is_delivered_twice_when_a_topic_is_replaced(bus):
    sub = bus.subscriber("cam.*")
    got = []
    for generation in range(20):
        with bus.publisher("cam.left", **SMALL) as pub:
            for number in range(3):
                pub.send(b"%d.%d" % (generation, number))
            got += [sub.recv(timeout=10).body for _ in range(3)]
        bus.remove("cam.left")
    assert got == [b"%d.%d" % (generation, number) for generation in range(20) for number in range(3)]
    assert sub.recv(timeout=0) is None
    assert sub.received == 60


def test_a_waiting_receiver_notices_a_deleted_topic_and_waits_for_the_others(bus, background):
    pub = bus.publisher("cam.left", **SMALL)
    other = bus.publisher("cam.right", **SMALL)
    sub = bus.subscriber("cam.*")
    waiting = background(sub.recv, 60)
    waiting.wait_until_asleep()
    pub.close()
    for name in ("cam.left.ring", "cam.left.readers"):
        Path(bus.path, name).unlink()
    while "cam.left" in sub.topics:
        os.sched_yield()
    other.send(b"still here")
    assert waiting.result().body == b"still here"


def test_a_forked_child_must_open_its_own_subscriber(processes):
    child = processes.start(
        """
        import os
        pub = bus.publisher("cam.left", capacity=4096)
        sub = bus.subscriber("cam.*")
        pid = os.fork()
        if pid == 0:
            try:
                sub.recv(timeout=0)
            except slipring.ForkedHandle:
                os._exit(7)
            os._exit(1)
        pub.send(b"x")
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sub.recv(timeout=60).body)
        """
    )
    child.expect((7, b"x"))
    child.join()


def test_topics_of_another_process_are_found(bus, processes):
    sub = bus.subscriber("cam.*")
    child = processes.start(
        """
        for number in range(20):
            bus.publisher(f"cam.{number}", capacity=4096).send(b"%d" % number)
        say("sent")
        hear()
        """
    )
    found = {(message.topic, message.body) for message in (sub.recv(timeout=60) for _ in range(20))}
    child.expect("sent")
    assert found == {(f"cam.{number}", b"%d" % number) for number in range(20)}
    assert sub.recv(timeout=0) is None


def test_many_topics_are_waited_for_at_once(bus, background):
    pubs = [bus.publisher(f"cam.{number}", **SMALL) for number in range(150)]
    sub = bus.subscriber("cam.*")
    for pub in pubs[::30]:
        waiting = background(sub.recv, 60)
        waiting.wait_until_asleep()
        pub.send(b"x")
        assert waiting.result().topic == pub.topic


@pytest.mark.parametrize("pattern", ["a b*", "cam/*", "cam.[x", "ü*", "-*", ".cam*", "*\n", "[!"])
def test_a_pattern_that_no_name_can_match_is_refused(bus, pattern):
    with pytest.raises(slipring.BadArgument, match="can match no topic") as refused:
        bus.subscriber(pattern)
    assert refused.value.argument == "topic"


@pytest.mark.parametrize("pattern", ["*", "cam.?", "[abc]*", "cam.[!x]", "cam.[]x]", "a[-z]", "[!-]a"])
def test_other_patterns_are_not(bus, pattern):
    bus.subscriber(pattern).close()
