# SPDX-License-Identifier: Apache-2.0
"""Promise 20: a closed bus releases its waiters with Closed; a closed handle raises Closed."""

import asyncio

import pytest

import slipring

pytestmark = pytest.mark.needs("reliable")

SMALL = {"capacity": 4096, "slots": 16}


def by_view(sub):
    with sub.view() as message:
        return message


def by_loan(pub):
    with pub.loan(8) as view:
        return view


RECEIVING = {
    "recv": lambda sub: sub.recv(),
    "recv with a time-out": lambda sub: sub.recv(timeout=1e6),
    "recv_many": lambda sub: sub.recv_many(9, timeout=None),
    "recv_batch": lambda sub: sub.recv_batch(9, timeout=None),
    "recv_into": lambda sub: sub.recv_into(bytearray(9)),
    "view": by_view,
    "wait": lambda sub: slipring.wait([sub]),
}
SENDING = {
    "send": lambda pub: pub.send(b"x"),
    "send_many": lambda pub: pub.send_many([b"x"]),
    "loan": by_loan,
    "wait_for_subscribers": lambda pub: pub.wait_for_subscribers(9),
}


@pytest.fixture
def full(bus):
    """Publisher and subscribers of a reliable topic: one has read all, one keeps the ring full."""
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    slow, sub = bus.subscriber("t"), bus.subscriber("t")
    pub.send_many([b"x"] * 15)
    sub.recv_many(100)
    return pub, sub, slow


@pytest.mark.parametrize("what", ["bus", "handle"])
@pytest.mark.parametrize("wait", RECEIVING.values(), ids=RECEIVING)
def test_closing_releases_a_waiting_receiver(bus, full, background, wait, what):
    sub = full[1]
    waiting = background(wait, sub)
    waiting.wait_until_asleep()
    (bus if what == "bus" else sub).close()
    with pytest.raises(slipring.Closed):
        waiting.result()


@pytest.mark.parametrize("what", ["bus", "handle"])
@pytest.mark.parametrize("wait", SENDING.values(), ids=SENDING)
def test_closing_releases_a_waiting_sender(bus, full, background, wait, what):
    pub = full[0]
    waiting = background(wait, pub)
    waiting.wait_until_asleep()
    (bus if what == "bus" else pub).close()
    with pytest.raises(slipring.Closed):
        waiting.result()


@pytest.mark.parametrize("what", ["bus", "handle"])
def test_closing_ends_a_waiting_iteration(bus, full, background, what):
    sub = full[1]
    waiting = background(list, sub)
    waiting.wait_until_asleep()
    (bus if what == "bus" else sub).close()
    assert waiting.result() == []


@pytest.mark.parametrize("what", ["bus", "handle"])
def test_closing_releases_a_subscriber_whose_topic_never_came(bus, background, what):
    sub = bus.subscriber("never")
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    (bus if what == "bus" else sub).close()
    with pytest.raises(slipring.Closed):
        waiting.result()


@pytest.mark.parametrize("what", ["bus", "handle"])
def test_closing_releases_a_waiting_member(bus, background, what):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    with pytest.raises(slipring.Full):
        while True:
            ann.send(b"x", timeout=0)
    waits = [background(ann.send, b"x"), background(ann.recv)]
    for waiting in waits:
        waiting.wait_until_asleep()
    (bus if what == "bus" else ann).close()
    for waiting in waits:
        with pytest.raises(slipring.Closed):
            waiting.result()
    bob.close()


@pytest.mark.parametrize("use", RECEIVING.values(), ids=RECEIVING)
@pytest.mark.parametrize("what", ["bus", "handle"])
def test_a_closed_subscriber_raises_closed(bus, full, use, what):
    sub = full[2]
    (bus if what == "bus" else sub).close()
    assert sub.closed
    with pytest.raises(slipring.Closed):
        use(sub)


@pytest.mark.parametrize("use", SENDING.values(), ids=SENDING)
@pytest.mark.parametrize("what", ["bus", "handle"])
def test_a_closed_publisher_raises_closed(bus, full, use, what):
    pub = full[0]
    (bus if what == "bus" else pub).close()
    assert pub.closed
    with pytest.raises(slipring.Closed):
        use(pub)


def test_every_other_use_of_a_closed_subscriber_raises_closed(bus, full):
    sub = full[2]
    sub.close()
    for use in (lambda: sub.seek("new"), lambda: asyncio.run(sub.arecv()), sub.commit):
        with pytest.raises(slipring.Closed):
            use()
    assert list(sub) == []


def test_every_use_of_a_closed_bus_raises_closed(bus):
    bus.create("t", **SMALL)
    bus.close()
    uses = [bus.create, bus.publisher, bus.subscriber, bus.stats, bus.remove, bus.cursors]
    uses += [lambda topic: bus.join(topic, sender="s"), lambda topic: bus.drop_cursor(topic, "c")]
    uses += [lambda topic: bus.topics(), lambda topic: bus.doctor()]
    for use in uses:
        with pytest.raises(slipring.Closed):
            use("t")


def test_closing_twice_is_allowed(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    member = bus.join("chat", sender="ann", **SMALL)
    for handle in (pub, sub, member, bus) * 2:
        handle.close()


def test_handles_and_the_bus_are_context_managers(backend):
    with backend.open("b") as bus:
        with bus.publisher("t", **SMALL) as pub, bus.subscriber("t") as sub:
            pub.send(b"x")
            assert sub.recv(timeout=0).body == b"x"
        assert pub.closed
        assert sub.closed
        stats = bus.stats("t")
        assert stats["publishers"] == stats["readers"] == []
        left_open = bus.publisher("t")
    assert left_open.closed


def test_handles_that_are_dropped_release_their_entries(bus):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    for _ in range(200):
        bus.subscriber("t")
        bus.publisher("t")
    pub.send_many([b"x"] * 100, timeout=0)
    stats = bus.stats("t")
    assert len(stats["publishers"]) == 1
    assert stats["readers"] == []
