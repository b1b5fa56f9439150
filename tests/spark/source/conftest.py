# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests without Spark: stream readers, a reliable and a lossy topic."""

import pytest


@pytest.fixture
def driven(bus):
    """Make stream readers that are called as Spark does; stop them afterwards and close the topics of their tasks."""
    from slipring.spark.source import tasks
    from spark.source.readers import Driven

    made = []

    def make(**options):
        made.append(Driven(bus, **options))
        return made[-1]

    yield make
    for one in made:
        one.stop()
    while tasks._OPEN:
        tasks._OPEN.popitem()[1].close()


@pytest.fixture
def cmd(bus):
    """A reliable topic with ten messages."""
    publisher = bus.publisher("cmd", delivery="reliable", capacity=4096, slots=16)
    publisher.send_many([b"%d" % n for n in range(10)])
    return publisher


@pytest.fixture
def imu(bus):
    publisher = bus.publisher("imu", capacity=4096, slots=16)
    publisher.send_many([b"%d" % n for n in range(10)])
    return publisher
