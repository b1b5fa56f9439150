# SPDX-License-Identifier: Apache-2.0
"""Promise 26: one delivery at a time, in the order of each topic, by explicit steps or by waiting calls."""

import pytest

import slipring
from slipring.testing import SteppedBus

SMALL = {"capacity": 4096, "slots": 16}


def bodies(sub) -> list[bytes]:
    return [message.body for message in sub.recv_many(1000)]


def test_a_message_is_in_flight_until_a_step_delivers_it(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send(b"x")
    assert sub.recv(timeout=0) is None
    assert (sub.lag, sub.received, sub.lost) == (1, 0, 0)
    assert bus.pending() == [("t", 0)]
    delivery = bus.step()
    assert (delivery.topic, delivery.seq, delivery.lost) == ("t", 0, False)
    assert sub.recv(timeout=0).body == b"x"
    assert bus.step() is None


def test_a_step_delivers_exactly_one_message_to_one_subscriber(bus):
    pub = bus.publisher("t")
    subs = [bus.subscriber("t") for _ in range(3)]
    pub.send_many([b"a", b"b"])
    for steps in range(1, 7):
        assert bus.step() is not None
        assert sum(len(sub.recv_many(9)) for sub in subs) == 1, steps
    assert bus.step() is None
    assert [sub.received for sub in subs] == [2, 2, 2]


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_reorders_one_topic_for_one_subscriber(seed):
    with SteppedBus(seed=seed) as bus:
        pubs = [bus.publisher("t", sender=str(number)) for number in range(3)]
        subs = [bus.subscriber("t") for _ in range(3)]
        for number in range(10):
            pubs[number % 3].send(b"%d" % number)
        while bus.step() is not None:
            pass
        assert [bodies(sub) for sub in subs] == [[b"%d" % number for number in range(10)]] * 3


def order_of_topics(seed: int) -> str:
    with SteppedBus(seed=seed) as bus:
        pubs = [bus.publisher(name) for name in "abc"]
        _subs = [bus.subscriber(name) for name in "abc"]
        for pub in pubs:
            pub.send_many([b"x"] * 5)
        order = ""
        while (delivery := bus.step()) is not None:
            order += delivery.topic
        return order


def test_different_seeds_give_different_orders_of_independent_topics():
    orders = {order_of_topics(seed) for seed in range(30)}
    assert len(orders) > 20
    assert {"".join(sorted(order)) for order in orders} == {"aaaaabbbbbccccc"}


def test_run_until_idle_delivers_everything(bus):
    pub, subs = bus.publisher("t"), [bus.subscriber("t") for _ in range(3)]
    pub.send_many([b"x"] * 5)
    assert bus.run_until_idle() == 15
    assert [len(bodies(sub)) for sub in subs] == [5, 5, 5]
    assert bus.run_until_idle() == 0


def by_view(sub):
    with sub.view() as message:
        return bytes(message.body)


WAITS = {
    "recv": lambda sub: sub.recv().body,
    "recv with a time-out": lambda sub: sub.recv(timeout=5).body,
    "recv_many": lambda sub: sub.recv_many(9, timeout=None)[0].body,
    "recv_batch": lambda sub: sub.recv_batch(9, timeout=None).column("value")[0].as_py(),
    "recv_into": lambda sub: bytes(sub.recv_into(bytearray(9)).body),
    "view": by_view,
    "iteration": lambda sub: next(iter(sub)).body,
    "wait": lambda sub: slipring.wait([sub])[0].recv(timeout=0).body,
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_call_that_waits_delivers_until_it_has_its_message(bus, wait):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send(b"x")
    assert wait(sub) == b"x"
    assert bus.clock.monotonic() == 0


def test_a_call_that_waits_takes_only_what_it_needs_from_its_own_topic(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send_many([b"a", b"b", b"c"])
    assert sub.recv().body == b"a"
    assert sub.recv(timeout=0) is None
    assert bus.pending() == [("t", 1)]


def test_messages_older_than_the_subscriber_need_no_delivery(bus):
    pub = bus.publisher("t")
    pub.send_many([b"a", b"b"])
    assert bodies(bus.subscriber("t", start="oldest")) == [b"a", b"b"]
    assert bus.subscriber("t", start="last").recv(timeout=0).body == b"b"


def test_a_subscriber_older_than_its_topic_gets_deliveries(bus):
    sub = bus.subscriber("later")
    pub = bus.publisher("later")
    pub.send(b"first")
    assert sub.recv(timeout=0) is None
    assert bus.step().topic == "later"
    assert sub.recv(timeout=0).body == b"first"


def test_messages_behind_an_open_loan_are_not_delivered_before_it(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    with pub.loan(1) as view:
        pub.send(b"second")
        assert bus.step() is None
        view[:] = b"1"
    assert [bus.step().seq, bus.step().seq, bus.step()] == [0, 1, None]
    assert bodies(sub) == [b"1", b"second"]


def test_a_subscriber_that_is_lapped_in_flight_counts_what_it_lost(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send_many([b"x"] * 100)
    bus.run_until_idle()
    got = [message.seq for message in sub.recv_many(1000)]
    assert got == list(range(85, 100))
    assert (sub.received, sub.lost) == (15, 85)


def test_an_undelivered_message_holds_a_reliable_publisher(bus):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    with pytest.raises(slipring.Full):
        for _ in range(16):
            pub.send(b"x", timeout=0)
    bus.run_until_idle()
    assert len(bodies(sub)) == 15
    assert pub.send(b"y", timeout=0) == 15


def test_a_conflating_subscriber_gets_the_newest_of_what_was_delivered(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t", conflate=True)
    pub.send_many([b"a", b"b", b"c"])
    bus.step()
    bus.step()
    assert sub.recv(timeout=0).body == b"b"
    bus.step()
    assert sub.recv(timeout=0).body == b"c"
    assert (sub.received, sub.filtered, sub.lost) == (2, 1, 0)


def test_two_stepped_buses_share_nothing():
    with SteppedBus("same") as one, SteppedBus("same") as other:
        one.publisher("t").send(b"x")
        assert (one.topics(), other.topics()) == (["t"], [])
        with pytest.raises(slipring.BadArgument, match="subscribers"):
            slipring.wait([one.subscriber("t"), other.subscriber("t")], timeout=0)


def test_subscribers_of_a_stepped_and_a_real_bus_are_not_waited_for_together(bus, bus_root):
    with slipring.Bus("real", root=bus_root) as real:
        subs = [bus.subscriber("t"), real.subscriber("t")]
        with pytest.raises(slipring.BadArgument, match="subscribers"):
            slipring.wait(subs, timeout=0)


def test_the_trace_lists_what_happened(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send(b"x")
    bus.advance(0.5)
    bus.step()
    sub.recv(timeout=0)
    assert bus.trace == [
        "0.000000000 create t",
        "0.000000000 publisher t p1",
        "0.000000000 subscriber t s2",
        "0.000000000 send t 0 by p1",
        "0.500000000 time",
        "0.500000000 deliver t 0 to s2",
        "0.500000000 receive t 0 by s2",
    ]
