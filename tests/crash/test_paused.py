# SPDX-License-Identifier: Apache-2.0
"""A stopped process does not count as dead (promise 10, invariant 10)."""

import pytest

import slipring
from crash.rings import RING, fill, lender


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_message_of_a_paused_loan_holder_is_delivered_after_it_continues(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    sub = bus.subscriber("t")
    child = lender(processes)
    child.stop()
    behind = [pub.send(b"behind"), pub.send(b"behind")]
    assert sub.recv(timeout=0.5) is None, "a paused publisher's message was skipped"
    child.resume()
    child.say("commit")
    loaned = child.hear()
    assert loaned == 0
    got = [sub.recv(timeout=60) for _ in range(3)]
    assert [m.seq for m in got] == [loaned, *behind]
    assert got[0].body == b"x" * 64
    assert (sub.received, sub.lost) == (3, 0)
    assert bus.stats("t")["abandoned"] == 0


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_others_publish_past_a_paused_loan_until_the_ring_is_full_and_never_over_it(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    child = lender(processes)
    child.stop()
    assert fill(pub, b"y" * 16) == 14, "one slot is claimed, one is kept unused"
    with pytest.raises(slipring.Full):
        pub.send(b"y", timeout=0.2)
    sub = bus.subscriber("t", start="oldest")
    child.resume()
    child.say("commit")
    assert child.hear() == 0
    assert [m.body for m in sub.recv_many(100, timeout=60)] == [b"x" * 64] + [b"y" * 16] * 14


def test_paused_exclusive_publisher_keeps_its_place(bus, processes):
    child = processes.start(
        """
        pub = bus.publisher("t", writers="one")
        say("there")
        while True:
            hear()
            say(pub.send(b"after the pause"))
        """
    )
    child.expect("there")
    sub = bus.subscriber("t")
    child.stop()
    for _ in range(3):
        with pytest.raises(slipring.Busy):
            bus.publisher("t")
    assert bus.stats("t")["publishers"][0]["alive"]
    bus.doctor(repair=True)
    child.resume()
    child.say("go")
    child.expect(0)
    assert sub.recv(timeout=60).body == b"after the pause"


def counting_reader(processes, **settings):
    child = processes.start(
        """
        sub = bus.subscriber("t", start="oldest", **settings)
        say("there")
        while True:
            want = hear()
            got = []
            while sub.position < want:
                got += [(m.seq, m.body) for m in sub.recv_many(100, timeout=0.05)]
            say(got, sub.received, sub.lost)
        """,
        settings=settings,
    )
    child.expect("there")
    return child


def test_paused_reliable_reader_holds_the_publisher_back_and_then_receives_everything(bus, processes):
    pub = bus.publisher("t", delivery="reliable", **RING)
    child = counting_reader(processes)
    child.stop()
    assert fill(pub, b"early") == 15
    bus.doctor(repair=True)
    bus.publisher("t").close()  # an attach sweeps dead processes, not paused ones
    with pytest.raises(slipring.Full):
        pub.send(b"late", timeout=0)
    child.resume()
    child.say(15)
    assert child.hear() == ([(n, b"early") for n in range(15)], 15, 0)
    pub.send(b"late", timeout=60)


def test_paused_lossy_reader_holds_nobody_back_and_counts_its_exact_loss(bus, processes):
    pub = bus.publisher("t", delivery="lossy", **RING)
    child = counting_reader(processes)
    pub.send(b"0")
    child.say(1)
    assert child.hear() == ([(0, b"0")], 1, 0)
    child.stop()
    for number in range(1, 1000):
        pub.send(b"%d" % number)
    child.resume()
    child.say(1000)
    got, received, lost = child.hear()
    assert received + lost == 1000
    assert lost == 999 - len(got)
    assert all(body == b"%d" % seq for seq, body in got)
    assert [seq for seq, _ in got] == list(range(1000 - len(got), 1000))


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_message_held_by_a_paused_reader_does_not_change(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    child = processes.start(
        """
        sub = bus.subscriber("t")
        say("there")
        with sub.view() as message:
            say(bytes(message.body))
            hear()
            say(bytes(message.body))
        say([m.body for m in sub.recv_many(100, timeout=0)])
        """
    )
    child.expect("there")
    pub.send(b"held" * 100)
    child.expect(b"held" * 100)
    child.stop()
    fill(pub, b"other" * 100)
    bus.publisher("t").close()
    child.resume()
    child.say("look")
    child.expect(b"held" * 100)
    assert set(child.hear()) == {b"other" * 100}
    child.join()


def test_waiter_paused_in_its_sleep_receives_what_came_meanwhile(bus, processes):
    bus.create("t", delivery="reliable", **RING)
    child = processes.start(
        """
        sub = bus.subscriber("t")
        say("there")
        say(sub.recv().body)
        """
    )
    child.expect("there")
    child.wait_until_asleep()
    child.stop()
    bus.publisher("t").send(b"meanwhile")
    child.resume()
    child.expect(b"meanwhile")
    child.join()
