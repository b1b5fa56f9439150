# SPDX-License-Identifier: Apache-2.0
"""Invariant 8: a creator killed between its two links leaves a reader table; the next to attach clears it."""

import os
from pathlib import Path

import pytest

import slipring


@pytest.fixture
def half(bus):
    """As a creator leaves it that was killed before it named the ring, and a remover after it unnamed it."""
    bus.create("t", capacity=4096)
    (Path(bus.path) / "t.ring").unlink()
    assert [finding["topic"] for finding in bus.doctor()] == ["t"]


def test_a_subscriber_clears_it_and_waits_for_the_topic(bus, half):
    with bus.subscriber("t") as sub:
        assert bus.doctor() == []
        assert os.listdir(bus.path) == []
        assert not sub.attached
        bus.publisher("t").send(b"whole")
        assert sub.recv(timeout=10).body == b"whole"


def test_a_publisher_clears_it_by_making_the_topic(bus, half):
    with bus.publisher("t") as pub:
        pub.send(b"whole")
        assert bus.doctor() == []
        assert bus.subscriber("t", start="oldest").recv(timeout=0).body == b"whole"


def test_a_whole_topic_is_left_alone(bus):
    bus.create("t", capacity=4096)
    before = sorted(os.listdir(bus.path))
    bus.subscriber("t")
    bus.subscriber("u")
    assert sorted(os.listdir(bus.path)) == before
    assert isinstance(bus.stats("t"), dict)
    with pytest.raises(slipring.TopicNotFound):
        bus.stats("u")
