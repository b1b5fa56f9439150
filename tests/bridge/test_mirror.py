# SPDX-License-Identifier: Apache-2.0
"""Mirrors: the copied topics, their names and fields; cycles are refused."""

import os
from pathlib import Path

import pytest

import slipring
from slipring.bridge import Mirror
from support.waiting import WATCHDOG_S, eventually


@pytest.fixture
def far(bus_root):
    with slipring.Bus("far", root=bus_root) as bus:
        yield bus


@pytest.fixture
def start(state):
    started = []

    def begin(source, target, topics, **settings):
        mirror = Mirror(source, target, topics, source_state=state, target_state=state, **settings)
        started.append(mirror)
        return mirror.start()

    yield begin
    for mirror in started:
        mirror.close()


def arrived(mirror, count: int) -> list[dict]:
    def done():
        status = mirror.status()
        return sum(one["mirrored"] for one in status) >= count and status

    return eventually(done, f"{count} messages mirrored")


def test_sender_type_and_time_are_copied(bus, far, start):
    pub = bus.publisher("imu", sender="gyro", delivery="reliable")
    original, copy = bus.subscriber("imu"), far.subscriber("imu")
    pub.send_many([b"a", b"b"], type="v1")
    status = arrived(start(bus, far, ["imu"]), 2)
    assert original.recv_many(10) == copy.recv_many(10)
    assert far.stats("imu")["delivery"] == "reliable"
    assert (status[0]["source_seq"], status[0]["target_seq"], status[0]["lost"]) == (1, 1, 0)


DYING = """
import os, signal
from slipring.bridge import Mirror
from slipring.bridge.mirror import mirrored_topic

opened = mirrored_topic.open_target
def open_target(*arguments):
    target = opened(*arguments)
    published = target.send
    def send(*batch):
        published(*batch)
        os.kill(os.getpid(), signal.SIGKILL)
    target.send = send
    return target
mirrored_topic.open_target = open_target
far = slipring.Bus("far", root=root)
Mirror(bus, far, ["t"], source_state=state, target_state=state).start()
hear()
"""


def test_a_mirror_killed_before_it_committed_a_whole_ring_lets_the_publisher_continue(
    bus, far, start, state, processes
):
    """The next mirror has nothing to read: no message could come to make it commit."""
    pub = bus.publisher("t", delivery="reliable", capacity=4096, slots=16)
    pub.send_many([b"%d" % number for number in range(15)])
    copy = far.subscriber("t")
    processes.start(DYING, state=state).join(None)
    assert [message.body for message in copy.recv_many(99)] == [b"%d" % number for number in range(15)]
    start(bus, far, ["t"])
    pub.send_many([b"more"] * 15, timeout=WATCHDOG_S)
    assert copy.recv(WATCHDOG_S).seq == 15


def test_globs_and_new_names(bus, far, start):
    for topic in ("cam1", "cam2", "other"):
        bus.publisher(topic).send(b"x")
    mirror = start(bus, far, ["cam*:robot1.*", "imu:robot1.gyro"])
    bus.publisher("imu").send(b"x")
    bus.publisher("cam3").send(b"x")  # appears later
    arrived(mirror, 4)
    assert far.topics() == ["robot1.cam1", "robot1.cam2", "robot1.cam3", "robot1.gyro"]


def test_messages_missed_by_a_lossy_mirror_are_counted(bus, far, start):
    pub = bus.publisher("t", capacity=4096, slots=16)
    start(bus, far, ["t"]).close()
    pub.send_many([b"%d" % number for number in range(100)])
    mirror = start(bus, far, ["t"])
    eventually(lambda: mirror.status()[0]["source_seq"] == 99, "the end")
    status = mirror.status()[0]
    assert status["lost"] > 0 and status["mirrored"] + status["lost"] == 100


def test_a_topic_is_not_mirrored_to_itself(bus, bus_root, start):
    bus.create("t")
    with pytest.raises(slipring.BadArgument, match="cycle"):
        start(bus, slipring.Bus("test", root=bus_root), ["t"])


def test_a_cycle_of_several_mirrors_is_refused(bus, far, bus_root, start):
    third = slipring.Bus("third", root=bus_root)
    bus.create("t")
    start(bus, far, ["t"])
    start(far, third, ["t"])
    with pytest.raises(slipring.BadArgument, match="cycle"):
        start(third, bus, ["t"])
    start(third, bus, ["t:copy"])  # another topic does not close the cycle


def test_a_cycle_closed_by_an_earlier_mirror_is_noticed_while_they_run(bus, far, bus_root, start):
    third = slipring.Bus("third", root=bus_root)
    for each in (bus, far, third):
        each.create("t")
    mirrors = [start(far, third, ["t"]), start(bus, far, ["t"])]
    # third is not yet told to be fed from bus: only the running check can tell
    try:
        mirrors.append(start(third, bus, ["t"]))
    except slipring.BadArgument:
        return
    eventually(lambda: any(m.status()[0]["state"] == "refused" for m in mirrors), "the cycle's end")


def test_two_mirrors_of_one_name_do_not_run_at_once(bus, far, start):
    pub = bus.publisher("t", delivery="reliable")
    first = start(bus, far, ["t"])
    second = start(bus, far, ["t"])
    pub.send(b"x")
    arrived(first, 1)
    assert second.status()[0]["problem"]
    assert far.stats("t")["tail"] == 1


@pytest.mark.parametrize("rule", ["", ":x", "cam*:same"])
def test_a_wrong_rule_is_refused_by_name(bus, far, rule):
    with pytest.raises(slipring.BadArgument) as caught:
        Mirror(bus, far, [rule])
    assert caught.value.argument == "topics"


@pytest.mark.parametrize("size", [20, 85, 86, 255])
def test_a_mirror_copies_messages_whose_type_is_not_utf8_and_counts_shortened_ones(
    bus, bus_root, state, size
):
    pub = bus.publisher("t", sender="ann")
    pub.send(b"before", type="plain")
    pub.send(b"strange", type="Z" * size)
    pub.send(b"after", type="plain")
    ring = Path(bus.path) / "t.ring"
    content = ring.read_bytes()
    assert content.count(b"Z" * size) == 1
    descriptor = os.open(ring, os.O_RDWR)
    os.pwrite(descriptor, b"\xff" * size, content.index(b"Z" * size))
    os.close(descriptor)
    with (
        slipring.Bus("far", root=bus_root) as far,
        Mirror(bus, far, ["t"], source_state=state, target_state=state).start() as mirror,
    ):
        copy = far.subscriber("t", start="oldest")
        got = [copy.recv(WATCHDOG_S) for _ in range(3)]
        assert [message.body for message in got] == [b"before", b"strange", b"after"]
        assert got[1].type == "\ufffd" * min(size, 85) and got[1].sender == "ann"
        assert mirror.status()[0]["shortened"] == (size > 85)
