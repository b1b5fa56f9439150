# SPDX-License-Identifier: Apache-2.0
"""Promise 19: waiting for several subscribers at once returns those that are ready."""

import pytest

import slipring

SMALL = {"capacity": 4096, "slots": 16}


@pytest.fixture
def topics(bus):
    names = [f"t{number}" for number in range(5)]
    pubs = [bus.publisher(name, **SMALL) for name in names]
    return pubs, [bus.subscriber(name) for name in names]


def test_wait_returns_the_one_that_fired(topics, background):
    pubs, subs = topics
    for number in (3, 0, 4, 1, 2):
        waiting = background(slipring.wait, subs)
        waiting.wait_until_asleep()
        pubs[number].send(b"x")
        assert waiting.result() == [subs[number]]
        assert subs[number].recv(timeout=0).body == b"x"


def test_wait_returns_all_that_are_ready_in_the_order_asked(topics):
    pubs, subs = topics
    for number in (4, 1):
        pubs[number].send(b"x")
    assert slipring.wait(subs, timeout=0) == [subs[1], subs[4]]
    assert slipring.wait(subs[::-1], timeout=None) == [subs[4], subs[1]]


def test_wait_consumes_nothing(topics):
    pubs, subs = topics
    pubs[2].send(b"x")
    for _ in range(3):
        assert slipring.wait(subs, timeout=0) == [subs[2]]
    assert subs[2].received == 0
    assert subs[2].recv(timeout=0).body == b"x"
    assert slipring.wait(subs, timeout=0) == []


def test_wait_returns_nothing_on_expiry(topics):
    _, subs = topics
    assert slipring.wait(subs, timeout=0) == []
    assert slipring.wait(subs, timeout=0.02) == []


def test_a_lapped_subscriber_is_ready(topics):
    pubs, subs = topics
    pubs[0].send_many([b"x"] * 32)
    assert slipring.wait(subs, timeout=0) == [subs[0]]


def test_wait_takes_any_iterable_of_subscribers(topics):
    pubs, subs = topics
    pubs[0].send(b"x")
    assert slipring.wait(iter(subs), timeout=0) == [subs[0]]
    assert slipring.wait(tuple(subs[:1]), timeout=0) == [subs[0]]


def test_wait_includes_subscribers_whose_topic_comes_later(bus, topics, background):
    _, subs = topics
    early = bus.subscriber("later")
    waiting = background(slipring.wait, [*subs, early])
    waiting.wait_until_asleep()
    bus.publisher("later", **SMALL).send(b"x")
    assert waiting.result() == [early]


def test_members_can_be_waited_for(bus):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    ann.send(b"hi")
    assert slipring.wait([ann, bob], timeout=0) == [bob]


@pytest.mark.parametrize(
    "wrong", [None, 5, [None], ["t"], [object()]], ids=["None", "5", "[None]", "text", "object"]
)
def test_an_object_that_is_not_a_subscriber_cannot_be_waited_for(wrong):
    with pytest.raises(TypeError):
        slipring.wait(wrong, timeout=0)


def test_a_publisher_cannot_be_waited_for(topics):
    pubs, subs = topics
    with pytest.raises(TypeError):
        slipring.wait([subs[0], pubs[0]], timeout=0)


def test_a_closed_subscriber_cannot_be_waited_for(topics):
    _, subs = topics
    subs[1].close()
    with pytest.raises(slipring.Closed):
        slipring.wait(subs, timeout=0)


def test_closing_one_subscriber_releases_the_wait_for_all(topics, background):
    _, subs = topics
    waiting = background(slipring.wait, subs)
    waiting.wait_until_asleep()
    subs[3].close()
    with pytest.raises(slipring.Closed):
        waiting.result()


def test_two_threads_may_wait_for_the_same_subscribers(topics, background):
    pubs, subs = topics
    waits = [background(slipring.wait, subs) for _ in range(3)]
    for waiting in waits:
        waiting.wait_until_asleep()
    pubs[1].send(b"x")
    assert [waiting.result() for waiting in waits] == [[subs[1]]] * 3


@pytest.mark.parametrize("count", [100, 150])
def test_waiting_for_many_topics_returns_the_one_that_fired(bus, background, count):
    pubs = [bus.publisher(f"many{number}", **SMALL) for number in range(count)]
    subs = [bus.subscriber(f"many{number}") for number in range(count)]
    for number in (0, count - 1, count // 2, 63, 64):
        waiting = background(slipring.wait, subs)
        if count <= 128:  # more than the kernel takes in one call: those are polled for
            waiting.wait_until_asleep()
        pubs[number].send(b"x")
        assert waiting.result() == [subs[number]]
        subs[number].recv(timeout=0)
    assert slipring.wait(subs, timeout=0) == []


def test_the_error_of_a_wait_names_the_topic(bus, topics, background):
    _, subs = topics
    waiting = background(slipring.wait, subs)
    waiting.wait_until_asleep()
    subs[3].close()
    with pytest.raises(slipring.Closed, match="'t3'"):
        waiting.result()
    with pytest.raises(slipring.Closed, match="'t3'"):
        slipring.wait(subs, timeout=0)


@pytest.mark.needs("tables")
def test_the_error_of_a_wait_names_the_topic_that_was_removed(bus, topics, background):
    _, subs = topics
    waiting = background(slipring.wait, subs)
    waiting.wait_until_asleep()
    bus.remove("t2")
    with pytest.raises(slipring.TopicGone, match="'t2'"):
        waiting.result()
    with pytest.raises(slipring.TopicGone, match="'t2'"):
        slipring.wait(subs, timeout=0)
