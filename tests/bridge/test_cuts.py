# SPDX-License-Identifier: Apache-2.0
"""Connections that are cut, refused, stalled, half-open or garbled: both ends connect again, no message
arrives twice, and missed messages are counted."""

import random
import re
import threading
import time

import pytest

import slipring
from support.waiting import WATCHDOG_S, eventually

CUTS = 8


def publish(pub, count: int) -> None:
    for number in range(count):
        pub.send(b"%d" % number, timeout=WATCHDOG_S)


def receive(sub, count: int) -> list[int]:
    got: list[int] = []
    while len(got) < count:
        batch = sub.recv_many(100, timeout=WATCHDOG_S)
        assert batch, f"nothing more after {got[-3:]}"
        got += [int(message.body) for message in batch]
    return got


@pytest.fixture
def through(serve, connect, proxy):
    """A remote bus through a proxy, and the proxy."""
    each = proxy(serve().address)
    return connect(each.address), each


def cut_now_and_then(way, is_over, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(CUTS):
        if is_over():
            return
        time.sleep(dice.uniform(0.01, 0.15))  # the instant of the cut
        way.cut()


def test_a_publisher_whose_connection_is_cut_publishes_everything_once(through, bus, background):
    remote, way = through
    sub = bus.subscriber("t")
    pub = remote.publisher("t", delivery="reliable", capacity=65536, slots=256)
    publishing = background(publish, pub, 1500)
    receiving = background(receive, sub, 1500)
    cut_now_and_then(way, lambda: publishing.done, 1)
    assert receiving.result() == list(range(1500))
    publishing.result()
    assert way.connections > 2 and sub.recv(0) is None


def test_a_reliable_subscriber_whose_connection_is_cut_loses_nothing(through, bus, background):
    remote, way = through
    sub = remote.subscriber("t")
    pub = bus.publisher("t", delivery="reliable", capacity=65536, slots=256)
    eventually(lambda: sub.attached, "the subscriber's attaching")
    publishing = background(publish, pub, 20_000)
    receiving = background(receive, sub, 20_000)
    cut_now_and_then(way, lambda: receiving.done, 2)
    assert receiving.result() == list(range(20_000))
    publishing.result()
    assert (sub.received, sub.lost, sub.filtered) == (20_000, 0, 0)
    assert way.connections > 2


def test_messages_published_while_the_next_connection_opens_arrive_once(through, bus, background):
    """The server's subscription still stands, and may speak before the client has said where it goes on."""
    remote, way = through
    sub, pub = remote.subscriber("t"), bus.publisher("t", capacity=1 << 20, slots=1 << 14)
    over = threading.Event()

    def publish_on_and_on() -> int:
        count = 0
        while not over.wait(0.0002):
            pub.send(b"%d" % count)
            count += 1
        return count

    publishing = background(publish_on_and_on)
    got: list[int] = []
    for _ in range(60):
        got += receive(sub, 5)
        way.cut()
    over.set()
    got += receive(sub, publishing.result() - len(got) - sub.lost)
    assert sorted(set(got)) == got
    assert sub.recv(0) is None and sub.received + sub.lost == publishing.result()


@pytest.mark.parametrize("trouble", ["stall", "garble", "refuse"])
def test_a_link_in_trouble_is_noticed_and_replaced(through, bus, trouble):
    remote, way = through
    sub, pub = remote.subscriber("t"), remote.publisher("t")
    pub.send(b"0")
    getattr(way, trouble)()
    eventually(lambda: not remote.connected or way.connections > 1, "the end of the connection")
    way.flow()
    way.cut()
    way.admit()
    eventually(lambda: remote.connected, "the next connection")
    bus.publisher("t").send(b"1")
    assert receive(sub, 2) == [0, 1]
    assert pub.send(b"2") == 2
    assert receive(sub, 1) == [2] and sub.lost == 0


def test_without_a_connection_a_recv_without_waiting_returns_and_a_request_raises_peer_gone(
    serve, proxy, connect
):
    way = proxy(serve().address)
    remote = connect(way.address + "?connect_timeout=2")
    sub = remote.subscriber("t")
    way.refuse()
    eventually(lambda: not remote.connected, "the end of the connection")
    assert sub.recv(0) is None and sub.recv(0.05) is None
    with pytest.raises(slipring.PeerGone, match=re.escape(way.address)):
        remote.topics()
    with pytest.raises(slipring.PeerGone, match=re.escape(way.address)):
        remote.remove("t")
    way.admit()
    eventually(lambda: remote.connected, "the next connection")
    assert remote.topics() == []


def test_a_topic_created_again_while_the_connection_was_lost_is_another_one(through, bus):
    remote, way = through
    pub, sub = remote.publisher("t"), remote.subscriber("t")
    pub.send(b"0")
    way.refuse()
    bus.remove("t")
    bus.publisher("t").send(b"other")
    way.admit()
    with pytest.raises(slipring.TopicGone):
        while True:
            sub.recv(WATCHDOG_S)
    with pytest.raises(slipring.TopicGone):
        pub.send(b"1")
