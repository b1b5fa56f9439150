# SPDX-License-Identifier: Apache-2.0
"""A recording is idle when its topics have nothing that it has not taken, and not before."""

import pytest

from slipring.pipelines.record.topic_state import is_behind


@pytest.fixture
def publisher(bus):
    with bus.publisher("t") as publisher:
        yield publisher


def at(bus, following, generation=None):
    generation = bus.stats("t")["generation"] if generation is None else generation
    return {"t": {"generation": f"{generation:016x}", "next": following, "origin": 0}}


def test_a_message_that_was_not_taken_is_a_backlog(bus, publisher):
    assert not is_behind(at(bus, 0), bus, ["t"])
    publisher.send(b"0")
    assert is_behind(at(bus, 0), bus, ["t"]) and not is_behind(at(bus, 1), bus, ["t"])


def test_a_message_that_is_not_finished_is_none(bus, publisher):
    with publisher.loan(8):
        assert not is_behind(at(bus, 0), bus, ["t"])
    assert is_behind(at(bus, 0), bus, ["t"])


def test_what_was_overwritten_still_has_to_be_counted(bus):
    with bus.publisher("t", capacity=4096, slots=16) as publisher:
        for _ in range(100):
            publisher.send(b"x")
        assert is_behind(at(bus, 3), bus, ["t"])


def test_a_topic_the_query_does_not_know_yet_is_a_backlog_once_it_has_something(bus, publisher):
    assert not is_behind({}, bus, ["t"])
    publisher.send(b"0")
    assert is_behind({}, bus, ["t"])
    assert is_behind(at(bus, 1, generation=7), bus, ["t"]), "of another generation, too"


def test_a_topic_that_is_gone_has_nothing(bus, publisher):
    publisher.send(b"0")
    positions = at(bus, 0)
    bus.remove("t")
    assert not is_behind(positions, bus, ["t"])
