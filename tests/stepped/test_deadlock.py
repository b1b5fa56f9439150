# SPDX-License-Identifier: Apache-2.0
"""A call that would wait forever raises Deadlock, which names every waiting function and its wait."""

import asyncio

import pytest

import slipring
from slipring.testing import Deadlock

SMALL = {"capacity": 4096, "slots": 16}


def by_view(sub):
    with sub.view():
        pass


WAITS = {
    "recv": lambda sub: sub.recv(),
    "recv_many": lambda sub: sub.recv_many(9, timeout=None),
    "view": by_view,
    "iteration": lambda sub: next(iter(sub)),
    "wait": lambda sub: slipring.wait([sub]),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_receiving_from_a_topic_without_publishers_is_a_deadlock(bus, wait):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    with pytest.raises(Deadlock, match="'t'"):
        wait(sub)
    pub.send(b"x")
    assert sub.recv().body == b"x"


def by_loan(pub):
    with pub.loan(1):
        pass


SENDS = {
    "send": lambda pub: pub.send(b"y"),
    "send_many": lambda pub: pub.send_many([b"y"]),
    "loan": by_loan,
    "wait_for_subscribers": lambda pub: pub.wait_for_subscribers(9),
}


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_sending_to_a_full_topic_without_readers_that_read_is_a_deadlock(bus, send):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    pub.send_many([b"x"] * 15)
    with pytest.raises(Deadlock, match="'t'"):
        send(pub)
    bus.run_until_idle()
    assert len(sub.recv_many(100)) == 15


def test_waiting_for_a_topic_that_is_never_created_is_a_deadlock(bus):
    with pytest.raises(Deadlock, match="'never'"):
        bus.subscriber("never").recv()


def test_a_member_without_others_is_a_deadlock(bus):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    with pytest.raises(Deadlock, match="chat"):
        while True:
            ann.send(b"x")
    with pytest.raises(Deadlock, match="chat"):
        ann.recv()
    bus.run_until_idle()
    assert len(bob.recv_many(100)) == 15


def test_two_functions_that_wait_for_each_other_are_a_deadlock_that_names_both(bus):
    def forward(source: str, target: str) -> None:
        pub, sub = bus.publisher(target), bus.subscriber(source)
        pub.send(sub.recv().body)

    there, back = bus.spawn(forward, "a", "b"), bus.spawn(forward, "b", "a")
    with pytest.raises(Deadlock, match=r"forward-2 for recv on 'b'"):
        there.result()
    assert "recv on 'a'" in there.waiting_for
    bus.publisher("a").send(b"begin")
    assert back.result() is None


def test_tasks_of_a_loop_that_wait_for_each_other_are_a_deadlock(bus):
    bus.create("t")

    async def main() -> None:
        await bus.subscriber("t").arecv()

    with pytest.raises(Deadlock, match="event loop"):
        bus.run(main())

    async def forgotten() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="event loop"):
        bus.run(forgotten())


def test_a_time_out_is_never_a_deadlock(bus):
    sub = bus.subscriber("never")
    assert sub.recv(timeout=1e6) is None
    assert slipring.wait([sub], timeout=1e6) == []
