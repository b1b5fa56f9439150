# SPDX-License-Identifier: Apache-2.0
"""Promise 8, reading: a held message does not change, and its view ends with the hold."""

import pytest

from support.rings import fill

SMALL = {"capacity": 4096, "slots": 16}


@pytest.fixture
def pair(bus):
    return bus.publisher("t", sender="p", **SMALL), bus.subscriber("t")


def test_a_view_shows_the_message_in_place(pair):
    pub, sub = pair
    pub.send(b"in place", type="kind")
    with sub.view(timeout=0) as message:
        assert isinstance(message.body, memoryview)
        assert message.body.readonly
        assert (message.body.format, message.body.ndim, message.body.nbytes) == ("B", 1, 8)
        assert bytes(message.body) == b"in place"
        assert (message.sender, message.type, message.seq, message.topic) == ("p", "kind", 0, "t")
    assert (sub.received, sub.position) == (1, 1)


@pytest.mark.needs("in place", "reader statistics")
@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_statistics_show_a_view_until_a_reliable_reader_has_gone_back_to_its_message(bus, delivery):
    pub = bus.publisher("t", delivery=delivery, **SMALL)
    sub = bus.subscriber("t")
    assert sub.recv(timeout=0) is None
    pub.send(b"held")
    with sub.view(timeout=0):
        assert bus.stats("t")["readers"][0]["held"]
        sub.seek("last")
        assert bus.stats("t")["readers"][0]["held"] == (delivery == "lossy")
        pub.send(b"next")
        sub.seek("last")
        assert bus.stats("t")["readers"][0]["held"]
    assert not bus.stats("t")["readers"][0]["held"]


def test_a_view_of_an_empty_message_is_empty(pair):
    pub, sub = pair
    pub.send(b"")
    with sub.view(timeout=0) as message:
        assert bytes(message.body) == b""


def test_a_view_that_expires_is_none(pair):
    _, sub = pair
    for timeout in (0, 0.01):
        with sub.view(timeout=timeout) as message:
            assert message is None


def test_a_view_cannot_be_written(pair):
    pub, sub = pair
    pub.send(b"in place")
    with sub.view(timeout=0) as message:
        with pytest.raises(TypeError):
            message.body[0] = 1
        assert bytes(message.body) == b"in place"


@pytest.mark.needs("in place")
@pytest.mark.parametrize("size", [1, 100, 1000, 4088])
def test_a_held_message_does_not_change_while_the_publisher_laps(pair, size):
    pub, sub = pair
    body = bytes(range(256)) * 16
    pub.send(body[:size])
    with sub.view(timeout=0) as message:
        for _ in range(3):
            fill(pub, b"later")
            assert bytes(message.body) == body[:size]
    assert pub.send(b"goes on") > 0


@pytest.mark.needs("in place")
def test_only_a_held_message_refuses_a_lossy_publisher_and_only_while_it_is_held(pair):
    pub, sub = pair
    pub.send(b"held")
    with sub.view(timeout=0):
        assert fill(pub, b"later") == 14
    assert pub.send_many([b"x"] * 100, timeout=0) == 114


@pytest.mark.needs("in place")
def test_other_readers_go_on_while_a_message_is_held(bus, pair):
    pub, sub = pair
    other = bus.subscriber("t")
    pub.send(b"held")
    with sub.view(timeout=0):
        sent = fill(pub, b"later")
        for _ in range(100):
            assert fill(pub, b"later") == 0
        got = [m.seq for m in other.recv_many(100)]
        assert got == list(range(got[0], 1 + sent))
        assert len(got) + other.lost == 1 + sent
        assert len(got) > sent // 2, "refused sends took the others' messages away"


@pytest.mark.needs("in place")
def test_a_publisher_may_wait_for_the_end_of_a_hold(pair, background):
    pub, sub = pair
    pub.send(b"held")
    with sub.view(timeout=0) as message:
        fill(pub, b"later")
        waiting = background(pub.send, b"waited", timeout=None)
        waiting.wait_until_asleep()
        assert bytes(message.body) == b"held"
    assert waiting.result() == 15


def test_a_view_is_unusable_after_release(pair):
    pub, sub = pair
    pub.send(b"in place")
    with sub.view(timeout=0) as message:
        body = message.body
    for use in (bytes, len, lambda view: view[0], lambda view: view[2:4], lambda view: view.tobytes()):
        with pytest.raises(ValueError):
            use(body)
    with pytest.raises(ValueError):
        bytes(message.body)


def test_a_view_is_released_when_the_block_fails(pair):
    pub, sub = pair
    pub.send(b"in place")
    with pytest.raises(KeyError), sub.view(timeout=0) as message:
        raise KeyError
    with pytest.raises(ValueError):
        bytes(message.body)
    pub.send_many([b"x"] * 100, timeout=0)


@pytest.mark.needs("in place")
def test_each_subscriber_holds_its_own_message(bus, pair):
    pub, first = pair
    second = bus.subscriber("t")
    pub.send_many([b"0", b"1"])
    second.recv(timeout=0)
    with first.view(timeout=0) as held, second.view(timeout=0) as other:
        assert (bytes(held.body), bytes(other.body)) == (b"0", b"1")
        fill(pub, b"later")
        assert (bytes(held.body), bytes(other.body)) == (b"0", b"1")
    assert pub.send(b"next") > 0


def test_a_subscriber_reads_on_after_its_view(pair):
    pub, sub = pair
    pub.send_many([b"0", b"1", b"2"])
    with sub.view(timeout=0) as message:
        assert bytes(message.body) == b"0"
    assert sub.recv(timeout=0).body == b"1"
    with sub.view(timeout=0) as message:
        assert bytes(message.body) == b"2"
    assert (sub.received, sub.lost) == (3, 0)


def test_a_viewed_message_counts_in_the_account_when_lapped_afterwards(pair):
    pub, sub = pair
    pub.send(b"0")
    with sub.view(timeout=0):
        pub.send_many([b"x"] * 14)
    pub.send_many([b"x"] * 100)
    sub.recv_many(100)
    assert sub.received + sub.lost == sub.position == 115
