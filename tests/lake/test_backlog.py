# SPDX-License-Identifier: Apache-2.0
"""A recording is idle as soon as it has read every message of its topics, and not earlier."""

import pytest

from slipring.pipelines.record.topic_state import is_behind


@pytest.fixture
def publisher(bus):
    with bus.publisher("t") as publisher:
        yield publisher


def at(bus, following, generation=None):
    generation = bus.stats("t")["generation"] if generation is None else generation
    return {"t": {"generation": f"{generation:016x}", "next": following, "origin": 0}}


def test_an_unread_message_is_a_backlog(bus, publisher):
    assert not is_behind(at(bus, 0), bus, ["t"])
    publisher.send(b"0")
    assert is_behind(at(bus, 0), bus, ["t"]) and not is_behind(at(bus, 1), bus, ["t"])


def test_an_unfinished_message_is_not_a_backlog(bus, publisher):
    with publisher.loan(8):
        assert not is_behind(at(bus, 0), bus, ["t"])
    assert is_behind(at(bus, 0), bus, ["t"])


def test_overwritten_messages_are_a_backlog_until_they_are_counted(bus):
    with bus.publisher("t", capacity=4096, slots=16) as publisher:
        for _ in range(100):
            publisher.send(b"x")
        assert is_behind(at(bus, 3), bus, ["t"])


def test_an_unknown_topic_is_a_backlog_as_soon_as_it_has_a_message(bus, publisher):
    assert not is_behind({}, bus, ["t"])
    publisher.send(b"0")
    assert is_behind({}, bus, ["t"])
    assert is_behind(at(bus, 1, generation=7), bus, ["t"]), "of another generation, too"


def test_a_removed_topic_has_no_backlog(bus, publisher):
    publisher.send(b"0")
    positions = at(bus, 0)
    bus.remove("t")
    assert not is_behind(positions, bus, ["t"])
