# SPDX-License-Identifier: Apache-2.0
"""Design 5: a reliable subscriber loses nothing; publishers wait for it, or get Full."""

import random

import pytest

import slipring
from support.rings import fill

pytestmark = pytest.mark.needs("reliable")

SMALL = {"capacity": 4096, "slots": 16}
USABLE = 15


@pytest.fixture
def pub(bus):
    return bus.publisher("r", delivery="reliable", **SMALL)


def test_a_full_ring_refuses_at_once_with_a_time_out_of_zero(bus, pub):
    sub = bus.subscriber("r")
    assert fill(pub) == USABLE
    for send in (lambda: pub.send(b"x", timeout=0), lambda: pub.send_many([b"x"], timeout=0)):
        with pytest.raises(slipring.Full):
            send()
    with pytest.raises(slipring.Full), pub.loan(1, timeout=0):
        pass
    assert [m.seq for m in sub.recv_many(100)] == list(range(USABLE))
    assert sub.lost == 0


@pytest.mark.parametrize("size", [1, 8, 100, 512, 4096])
def test_a_full_ring_means_full_slots_or_full_payload(bus, pub, size):
    sub = bus.subscriber("r")
    expected = min(USABLE, 4096 // max(8, -(-size // 8) * 8))
    for _ in range(5):
        assert fill(pub, b"x" * size) == expected
        assert len(sub.recv_many(100)) == expected


def test_a_blocked_sender_goes_on_as_soon_as_the_reader_does(bus, backend, pub, background):
    sub = bus.subscriber("r")
    total = 20_000 // backend.step

    def publish() -> None:
        for number in range(total):
            pub.send(b"%d" % number)

    publishing = background(publish)
    got = []
    rng = random.Random(1)
    while len(got) < total:
        got += [m.body for m in sub.recv_many(rng.randrange(1, 40), timeout=None)]
    publishing.result()
    assert got == [b"%d" % number for number in range(total)]
    assert sub.lost == 0


def test_the_slowest_reliable_reader_sets_the_pace(bus, pub):
    fast, slow = bus.subscriber("r"), bus.subscriber("r")
    fill(pub)
    fast.recv_many(100)
    assert fill(pub) == 0
    slow.recv_many(4)
    assert fill(pub) == 4
    assert (len(fast.recv_many(100)), len(slow.recv_many(100))) == (4, USABLE)
    assert fast.lost == slow.lost == 0


@pytest.mark.needs("lapping")
def test_a_lossy_reader_of_a_reliable_topic_holds_no_publisher(bus, pub):
    tap, sub = bus.subscriber("r", lossy=True), bus.subscriber("r")
    for _ in range(10):
        assert fill(pub) == USABLE
        sub.recv_many(100)
    got = tap.recv_many(1000)
    assert got[-1].seq == 10 * USABLE - 1
    assert tap.received + tap.lost == 10 * USABLE
    assert tap.lost > 0
    assert sub.lost == 0


def test_without_reliable_readers_no_publisher_waits(bus, pub):
    pub.send_many([b"x"] * 1000, timeout=0)
    with bus.subscriber("r"):
        assert fill(pub) == USABLE
    pub.send_many([b"x"] * 1000, timeout=0)


def test_closing_the_slow_reader_releases_a_blocked_sender(bus, pub, background):
    sub = bus.subscriber("r")
    fill(pub)
    waiting = background(pub.send, b"last")
    waiting.wait_until_asleep()
    sub.close()
    assert waiting.result() == USABLE


def test_a_reliable_reader_that_starts_at_the_oldest_loses_nothing_retained(bus, pub):
    pub.send_many([b"x"] * 100)
    oldest = bus.stats("r")["oldest"]
    sub = bus.subscriber("r", start="oldest")
    fill(pub)
    got = [m.seq for m in sub.recv_many(1000)]
    assert got == list(range(oldest, oldest + len(got)))
    assert sub.lost == 0


def test_a_reliable_subscriber_on_a_lossy_topic_is_refused(bus):
    bus.create("t", **SMALL)
    with pytest.raises(slipring.BadArgument, match="lossy"):
        bus.subscriber("t", lossy=False)
    assert bus.stats("t")["readers"] == []
    with bus.subscriber("t", lossy=True) as sub:
        bus.publisher("t").send_many([b"x"] * 100, timeout=0)
        assert sub.recv_many(1000)


def test_seeking_forward_frees_what_is_skipped(bus, pub):
    sub = bus.subscriber("r")
    fill(pub)
    sub.seek("new")
    assert fill(pub) == USABLE
    sub.seek("last")
    assert fill(pub) == USABLE - 1


def test_seeking_back_holds_from_there(bus, pub):
    sub = bus.subscriber("r")
    pub.send_many([b"x"] * 10)
    sub.recv_many(10)
    sub.seek(3)
    fill(pub)
    got = [m.seq for m in sub.recv_many(100)]
    assert got == list(range(3, 3 + USABLE))
    assert sub.lost == 0


def test_a_view_of_a_reliable_reader_holds_its_message(bus, pub):
    sub = bus.subscriber("r")
    pub.send(b"held")
    with sub.view(timeout=0) as message:
        assert fill(pub) == USABLE - 1
        assert bytes(message.body) == b"held"
    assert fill(pub) == 1
    assert len(sub.recv_many(100)) == USABLE
    assert sub.lost == 0


def test_a_refused_message_takes_no_sequence(bus, pub):
    sub = bus.subscriber("r")
    last = fill(pub) - 1
    for _ in range(10):
        with pytest.raises(slipring.Full):
            pub.send(b"refused", timeout=0)
    sub.recv_many(100)
    assert pub.send(b"next") == last + 1


def test_send_many_on_a_full_ring_sends_what_fits_in_order(bus, pub, background):
    sub = bus.subscriber("r")
    bodies = [b"%d" % number for number in range(1000)]
    sending = background(pub.send_many, bodies)
    got = []
    while len(got) < 1000:
        got += [m.body for m in sub.recv_many(10, timeout=None)]
    assert sending.result() == 999
    assert got == bodies


def test_a_refused_send_many_leaves_a_prefix(bus, pub):
    sub = bus.subscriber("r")
    with pytest.raises(slipring.Full):
        pub.send_many([b"%d" % number for number in range(100)], timeout=0)
    got = [m.body for m in sub.recv_many(1000)]
    assert got == [b"%d" % number for number in range(len(got))]
