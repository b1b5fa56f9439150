# SPDX-License-Identifier: Apache-2.0
"""Processes are killed while they wait or while others wait for them, and restarted (promises 9 and 11)."""

import pytest

import slipring

RING = {"capacity": 4096, "slots": 16}


def waiting_reader(processes, topic: str = "t", **settings):
    child = processes.start(
        """
        sub = bus.subscriber(topic, **settings)
        say("there")
        while True:
            message = sub.recv()
            say(message.seq, message.body)
        """,
        topic=topic,
        settings=settings,
    )
    child.expect("there")
    child.wait_until_asleep()
    return child


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_killed_waiter_neither_delays_nor_silences_other_waiters(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, max_readers=8, **RING)
    living = waiting_reader(processes)
    for round_ in range(5):
        dying = [waiting_reader(processes) for _ in range(2)]
        dying[0].kill()
        pub.send(b"one dead")
        assert living.hear() == (2 * round_, b"one dead")
        dying[1].kill()
        living.wait_until_asleep()
        pub.send(b"two dead")
        assert living.hear() == (2 * round_ + 1, b"two dead")
    for _ in range(100):
        pub.send(b"round the ring", timeout=60)
        living.hear()
    with bus.subscriber("t"):
        assert len(bus.stats("t")["readers"]) == 2


def test_publisher_killed_while_it_waits_for_space_does_not_disturb_other_waiters(bus, processes, background):
    pub = bus.publisher("t", delivery="reliable", **RING)
    sub = bus.subscriber("t")
    for number in range(15):
        pub.send(b"%d" % number, timeout=0)
    child = processes.start(
        """
        pub = bus.publisher("t")
        say("there")
        pub.send(b"never")
        """
    )
    child.expect("there")
    child.wait_until_asleep()
    blocked = background(pub.send, b"15")
    blocked.wait_until_asleep()
    child.kill()
    got = [sub.recv(timeout=0).body for _ in range(15)]
    blocked.result()
    got.append(sub.recv(timeout=60).body)
    assert got == [b"%d" % n for n in range(16)]
    assert sub.recv(timeout=0) is None


def test_publisher_killed_while_it_waits_for_subscribers_is_forgotten(bus, processes):
    child = processes.start(
        """
        pub = bus.publisher("t", writers="one")
        say("there")
        pub.wait_for_subscribers(3)
        """
    )
    child.expect("there")
    child.wait_until_asleep()
    child.kill()
    pub = bus.publisher("t")
    with bus.subscriber("t") as sub:
        assert pub.wait_for_subscribers(1, timeout=60)
        assert not pub.wait_for_subscribers(2, timeout=0)
        pub.send(b"m")
        assert sub.recv(timeout=60).body == b"m"


def test_dead_subscribers_are_not_waited_for(bus, processes):
    pub = bus.publisher("t")
    child = waiting_reader(processes)
    assert pub.wait_for_subscribers(1, timeout=60)
    child.kill()
    assert not pub.wait_for_subscribers(1, timeout=0)


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
@pytest.mark.parametrize("writers", ["one", "many"])
def test_waiter_is_woken_by_the_restarted_publisher(bus, processes, delivery, writers):
    script = """
        pub = bus.publisher("t", delivery=delivery, writers=writers, capacity=4096, slots=16)
        say("there")
        while True:
            say(pub.send(hear()))
        """
    first = processes.start(script, delivery=delivery, writers=writers)
    first.expect("there")
    reader = waiting_reader(processes)
    first.say(b"before")
    first.expect(0)
    assert reader.hear() == (0, b"before")
    reader.wait_until_asleep()
    first.kill()
    second = processes.start(script, delivery=delivery, writers=writers)
    second.expect("there")
    reader.wait_until_asleep()
    second.say(b"after")
    second.expect(1)
    assert reader.hear() == (1, b"after")


def test_subscriber_gets_everything_unread_and_everything_new_over_a_restart(bus, processes):
    sub = bus.subscriber("t")
    script = """
        pub = bus.publisher("t", delivery="reliable", writers="one")
        for number in range(first, first + 10):
            pub.send(b"%d" % number)
        say("sent")
        hear()
        """
    for first in (0, 10, 20):
        child = processes.start(script, first=first)
        child.expect("sent")
        child.kill()
    assert [m.body for m in sub.recv_many(100, timeout=60)] == [b"%d" % n for n in range(30)]
    assert sub.lost == 0


def test_messages_outlive_every_process_that_used_the_topic(bus, processes):
    child = processes.start(
        """
        pub = bus.publisher("t")
        pub.send_many([b"1", b"2", b"3"])
        say("sent")
        hear()
        """
    )
    child.expect("sent")
    child.kill()
    with bus.subscriber("t", start="oldest") as sub:
        assert [m.body for m in sub.recv_many(10)] == [b"1", b"2", b"3"]
    with bus.subscriber("t", start="last") as sub:
        assert sub.recv(timeout=0).body == b"3"


def test_killed_while_waiting_on_many_topics_leaves_no_entry_in_any(bus, processes):
    topics = [f"t{n}" for n in range(20)]
    pubs = [bus.publisher(topic) for topic in topics]
    for _ in range(3):
        child = processes.start(
            """
            subs = [bus.subscriber(topic) for topic in topics]
            say("there")
            say([sub.topic for sub in slipring.wait(subs)])
            slipring.wait(subs[:5] + subs[6:])
            """,
            topics=topics,
        )
        child.expect("there")
        child.wait_until_asleep()
        pubs[5].send(b"m")
        child.expect(["t5"])
        child.wait_until_asleep()
        child.kill()
        for pub in pubs:
            pub.send(b"m")
    for topic in topics:
        bus.subscriber(topic).close()
        assert bus.stats(topic)["readers"] == []
    assert bus.doctor() == []


def test_topic_gone_differs_from_a_dead_publisher(bus, processes):
    child = processes.start("pub = bus.publisher('t'); say('there'); hear()")
    child.expect("there")
    sub = bus.subscriber("t")
    child.kill()
    assert sub.recv(timeout=0.2) is None
    bus.remove("t")
    with pytest.raises(slipring.TopicGone):
        sub.recv(timeout=60)
