# SPDX-License-Identifier: Apache-2.0
"""Promise 13: opening a topic with another geometry raises an error that names both, and changes nothing."""

import pytest

import slipring

pytestmark = pytest.mark.needs("ring")

FIRST = {"capacity": 8192, "slots": 32, "delivery": "reliable", "writers": "many"}
FIRST |= {"max_readers": 4, "max_writers": 6, "max_cursors": 2}
OTHERS = [("capacity", 16384), ("slots", 64), ("delivery", "lossy"), ("writers", "one")]
OTHERS += [("max_readers", 5), ("max_writers", 7), ("max_cursors", 3)]


@pytest.mark.parametrize("how", ["create", "publisher"])
@pytest.mark.parametrize(("name", "asked"), OTHERS, ids=[name for name, _ in OTHERS])
def test_another_geometry_is_refused_with_both_values_and_changes_nothing(bus, backend, how, name, asked):
    bus.create("t", **FIRST)
    before = backend.contents(bus)
    with pytest.raises(slipring.TopicExists, match=name) as caught:
        getattr(bus, how)("t", **{**FIRST, name: asked})
    assert str(FIRST[name]) in str(caught.value)
    assert str(asked) in str(caught.value)
    assert str(FIRST[name]) in str(caught.value.found)
    assert str(asked) in str(caught.value.asked)
    assert backend.contents(bus) == before


def test_a_refused_opener_disturbs_no_message(bus):
    pub, sub = bus.publisher("t", **FIRST), bus.subscriber("t")
    pub.send(b"before")
    for name, asked in OTHERS:
        with pytest.raises(slipring.TopicExists):
            bus.publisher("t", **{name: asked})
    pub.send(b"after")
    assert [m.body for m in sub.recv_many(9)] == [b"before", b"after"]
    assert len(bus.stats("t")["publishers"]) == 1


def test_a_setting_left_out_accepts_what_the_topic_has(bus):
    bus.create("t", **FIRST)
    bus.create("t")
    bus.create("t", slots=32)
    bus.publisher("t").send(b"x")
    stats = bus.stats("t")
    assert {name: stats[name] for name in FIRST} == FIRST


def test_the_same_geometry_in_another_spelling_is_the_same(bus):
    bus.create("t", capacity=8192, slots=32)
    bus.create("t", capacity="8KiB", slots=20)
    bus.create("t", capacity=5000, slots=32)


def test_opening_a_live_topic_again_keeps_its_messages(bus):
    pub, sub = bus.publisher("t", capacity=8192), bus.subscriber("t")
    pub.send(b"kept")
    bus.create("t", capacity=8192)
    bus.publisher("t", capacity=8192).send(b"more")
    assert [m.body for m in sub.recv_many(9)] == [b"kept", b"more"]


def test_an_existing_topic_is_refused_when_it_may_not_exist(bus, backend):
    bus.create("t", capacity=8192, exist_ok=False)
    before = backend.contents(bus)
    for how in (bus.create, bus.publisher):
        with pytest.raises(slipring.TopicExists):
            how("t", capacity=8192, exist_ok=False)
    assert backend.contents(bus) == before


def test_a_subscriber_makes_no_topic(bus):
    bus.subscriber("t").recv(timeout=0)
    assert bus.topics() == []
