# SPDX-License-Identifier: Apache-2.0
"""The component runs unchanged: it gets a stepped bus instead of a real one, except in the last test."""

import threading

import pytest
from brake import Brake

import slipring
from slipring.testing import Killed


def orders(sub):
    return [message.body for message in sub.recv_many()]


@pytest.fixture
def robot(stepped_bus):
    """Publisher of the lidar, subscriber of the brake, and the component between them, running."""
    lidar, brake = stepped_bus.publisher("lidar"), stepped_bus.subscriber("brake")
    stepped_bus.spawn(Brake(stepped_bus).run)
    return lidar, brake


def test_it_brakes_for_an_obstacle(stepped_bus, robot):
    lidar, brake = robot
    for distance in (b"3.0", b"0.5", b"2.0"):
        lidar.send(distance, type="distance")
    stepped_bus.run_until_idle()
    assert orders(brake) == [b"obstacle"]


def test_it_brakes_a_fifth_of_a_second_after_the_last_distance(stepped_bus, robot):
    lidar, brake = robot
    lidar.send(b"3.0", type="distance")
    lidar.send(b"warming up", type="status")  # filtered: it does not count as a sign of life
    stepped_bus.run_until_idle()
    stepped_bus.advance(0.199)
    stepped_bus.run_until_idle()
    assert orders(brake) == []
    stepped_bus.advance(0.001)
    stepped_bus.run_until_idle()
    assert orders(brake) == [b"silence"]
    assert stepped_bus.clock.monotonic() == 0.2


def test_it_brakes_when_it_missed_something(stepped_bus, robot):
    lidar, brake = robot
    stepped_bus.lose("lidar", 2)
    for distance in (b"3.0", b"0.5", b"3.0"):
        lidar.send(distance, type="distance")
    stepped_bus.run_until_idle()
    assert orders(brake) == [b"blind: 2 lost"]


def test_a_lidar_that_dies_while_it_sends_is_silence(stepped_bus, robot):
    lidar, brake = robot
    stepped_bus.kill(lidar, at="claimed")
    with pytest.raises(Killed):
        lidar.send(b"0.1", type="distance")
    stepped_bus.advance(0.2)
    stepped_bus.run_until_idle()
    assert orders(brake) == [b"silence"]


def test_it_works_on_shared_memory_too(bus):
    brake = bus.subscriber("brake")

    def run():
        with pytest.raises(slipring.Closed):
            Brake(bus).run()

    thread = threading.Thread(target=run)
    thread.start()
    lidar = bus.publisher("lidar")
    assert lidar.wait_for_subscribers(timeout=10)
    lidar.send(b"0.5", type="distance")
    while brake.recv(timeout=10).body != b"obstacle":
        pass
    bus.close()
    thread.join()
