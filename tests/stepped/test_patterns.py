# SPDX-License-Identifier: Apache-2.0
"""Patterns on a stepped bus: deliveries in steps, no slices of time, all parts killed at once."""

import pytest

from slipring.testing import Deadlock, Killed, SteppedBus


@pytest.fixture
def bus():
    with SteppedBus() as bus:
        yield bus


def test_messages_of_all_topics_are_in_flight_until_they_are_delivered(bus):
    pubs = [bus.publisher(name) for name in ("cam.left", "cam.right")]
    sub = bus.subscriber("cam.*")
    for pub in pubs:
        pub.send(b"x")
    assert sub.recv(timeout=0) is None
    bus.step()
    assert len(sub.recv_many()) == 1
    bus.step()
    assert len(sub.recv_many()) == 1


def test_a_wait_that_cannot_end_is_a_deadlock(bus):
    bus.publisher("cam.left")
    for pattern in ("cam.*", "nothing.*"):
        with pytest.raises(Deadlock):
            bus.subscriber(pattern).recv()
        with pytest.raises(Deadlock):
            bus.run(bus.subscriber(pattern).arecv())


def test_a_waiting_pattern_finds_a_topic_created_by_a_task(bus):
    sub = bus.subscriber("cam.*")
    waiting = bus.spawn(sub.recv)
    bus.run_until_idle()
    bus.publisher("cam.late").send(b"x")
    bus.run_until_idle()
    assert waiting.result().topic == "cam.late"


def test_a_time_out_takes_no_real_time(bus):
    begun = bus.clock.monotonic()
    assert bus.subscriber("cam.*").recv(timeout=1000) is None
    assert bus.clock.monotonic() - begun == 1000


def test_a_killed_pattern_is_killed_on_all_its_topics(bus):
    for name in ("cam.left", "cam.right"):
        bus.create(name)
    sub = bus.subscriber("cam.*")
    bus.kill(sub)
    with pytest.raises(Killed):
        sub.recv(timeout=0)
    assert [entry["alive"] for name in bus.topics() for entry in bus.stats(name)["readers"]] == [False, False]
