# SPDX-License-Identifier: Apache-2.0
"""Unrelated processes on one bus: publish, subscribe, fan out, arrive early, restart."""

import pytest

import slipring

PUBLISH = """
    pub = bus.publisher("t", sender=sender, **settings)
    pub.wait_for_subscribers(readers)
    say("go")
    hear()
    for number in range(count):
        pub.send(b"%d" % number * (number % 20), type=str(number % 3))
    say("sent")
"""
SUBSCRIBE = """
    import hashlib
    sub = bus.subscriber("t", start="oldest")
    digest, seqs = hashlib.sha256(), []
    while len(seqs) < count:
        message = sub.recv()
        digest.update(repr((message.seq, message.sender, message.type, message.body)).encode())
        seqs.append(message.seq)
    assert seqs == sorted(seqs)
    say(digest.hexdigest(), sub.received, sub.lost)
"""
RELIABLE = {"capacity": "64KiB", "slots": 256, "delivery": "reliable"}


def test_two_unrelated_processes_publish_and_subscribe(processes):
    publisher = processes.start("""
        bus.publisher("t", sender="gyro", capacity="64KiB").send(b"hello", type="greeting")
        say("sent")
        hear()
    """)
    publisher.expect("sent")
    subscriber = processes.start("""
        message = bus.subscriber("t", start="oldest").recv()
        say(message.body, message.sender, message.type, message.seq)
    """)
    subscriber.expect((b"hello", "gyro", "greeting", 0))
    subscriber.join()
    publisher.say("end")
    publisher.join()


def test_messages_outlive_the_process_that_sent_them(bus, processes):
    processes.start("bus.publisher('t', capacity=4096).send_many([b'a', b'b'])").join()
    assert [m.body for m in bus.subscriber("t", start="oldest").recv_many(9)] == [b"a", b"b"]


@pytest.mark.parametrize("readers", [1, 4])
def test_every_subscriber_of_a_reliable_topic_gets_every_message(processes, readers):
    count = 20_000
    subscribers = [processes.start(SUBSCRIBE, count=count) for _ in range(readers)]
    publisher = processes.start(PUBLISH, sender="p", count=count, readers=readers, settings=RELIABLE)
    publisher.expect("go")
    publisher.say("go")
    results = [subscriber.hear() for subscriber in subscribers]
    assert len(set(results)) == 1
    assert results[0][1:] == (count, 0)
    publisher.expect("sent")


def test_subscribers_of_several_publishers_see_one_total_order(processes):
    count, writers = 5_000, 3
    subscribers = [processes.start(SUBSCRIBE, count=writers * count) for _ in range(2)]
    publishers = [
        processes.start(PUBLISH, sender=f"p{number}", count=count, readers=2, settings=RELIABLE)
        for number in range(writers)
    ]
    for publisher in publishers:
        publisher.expect("go")
    for publisher in publishers:
        publisher.say("go")
    results = [subscriber.hear() for subscriber in subscribers]
    assert results[0] == results[1]
    assert results[0][1:] == (writers * count, 0)


def test_a_lossy_subscriber_in_another_process_balances_its_account(bus, processes):
    subscriber = processes.start("""
        sub = bus.subscriber("t", ignore_types=["1"])
        say("ready")
        hear()
        last = None
        while last != b"end":
            message = sub.recv()
            last = message.body
        say(sub.received + sub.lost + sub.filtered, sub.position, sub.lost > 0)
    """)
    pub = bus.publisher("t", capacity=4096, slots=16)
    subscriber.expect("ready")
    for number in range(100_000):
        if number == 1000:  # so far it did not read, so it is lapped for certain; from now on it races
            subscriber.say("go")
        pub.send(b"%d" % number, type=str(number % 3))
    pub.send(b"end")
    assert subscriber.hear() == (100_001, 100_001, True)


def test_a_subscriber_may_start_before_the_topic_exists(bus, processes):
    subscriber = processes.start("""
        sub = bus.subscriber("t")
        say("ready", sub.attached)
        say([sub.recv().body for _ in range(3)])
    """)
    subscriber.expect(("ready", False))
    subscriber.wait_until_asleep()
    bus.publisher("t", capacity=4096).send_many([b"a", b"b", b"c"])
    subscriber.expect([b"a", b"b", b"c"])
    subscriber.join()


def test_a_restarted_publisher_is_followed_and_wakes_the_waiter(processes):
    subscriber = processes.start("""
        sub = bus.subscriber("t")
        say("ready")
        while True:
            message = sub.recv()
            say(message.body, message.seq, sub.lost)
    """)
    subscriber.expect("ready")
    for turn in range(5):
        publisher = processes.start(
            "bus.publisher('t', writers='one', capacity=4096).send_many([b'%d' % turn] * 2)", turn=turn
        )
        publisher.join()
        subscriber.expect((b"%d" % turn, 2 * turn, 0))
        subscriber.expect((b"%d" % turn, 2 * turn + 1, 0))
        subscriber.wait_until_asleep()


def test_a_restarted_publisher_loses_nothing_unread(bus, processes):
    sub = bus.subscriber("t")
    script = "bus.publisher('t', writers='one', capacity=4096).send(b'%d' % turn)"
    for turn in range(4):
        processes.start(script, turn=turn).join()
    assert [m.body for m in sub.recv_many(9)] == [b"0", b"1", b"2", b"3"]


def test_a_second_exclusive_publisher_of_another_process_is_refused(bus, processes):
    pub, sub = bus.publisher("t", writers="one", capacity=4096), bus.subscriber("t")
    pub.send(b"before")
    second = processes.start("""
        for settings in ({}, {"writers": "one"}):
            try:
                bus.publisher("t", **settings)
            except slipring.Busy:
                say("busy")
    """)
    second.expect("busy")
    second.expect("busy")
    second.join()
    pub.send(b"after")
    assert [m.body for m in sub.recv_many(9)] == [b"before", b"after"]


def test_racing_creators_agree_on_one_topic(processes):
    creators = [
        processes.start("""
            say("ready")
            hear()
            for number in range(30):
                pub = bus.publisher(f"t{number}", capacity=4096, slots=64)
                pub.send(b"x")
                pub.close()
            say("done")
        """)
        for _ in range(4)
    ]
    for creator in creators:
        creator.expect("ready")
    for creator in creators:
        creator.say("go")
    for creator in creators:
        creator.expect("done")
    counter = processes.start("say([bus.stats(f't{number}')['published'] for number in range(30)])")
    counter.expect([4] * 30)


def test_only_one_of_racing_creators_makes_a_topic_that_may_not_exist(processes):
    creators = [
        processes.start("""
            say("ready")
            hear()
            made = 0
            for number in range(30):
                try:
                    bus.create(f"t{number}", capacity=4096, exist_ok=False)
                    made += 1
                except slipring.TopicExists:
                    pass
            say(made)
        """)
        for _ in range(3)
    ]
    for creator in creators:
        creator.expect("ready")
    for creator in creators:
        creator.say("go")
    assert sum(creator.hear() for creator in creators) == 30


def test_a_cursor_is_taken_over_by_another_process(bus, processes):
    pub = bus.publisher("t", delivery="reliable", capacity=4096, slots=16)
    script = """
        with bus.subscriber("t", cursor="c", start="oldest") as sub:
            say([m.seq for m in sub.recv_many(3, timeout=None)])
            sub.commit()
            hear()
    """
    pub.send_many([b"x"] * 9)
    for turn in range(3):
        reader = processes.start(script)
        reader.expect([3 * turn, 3 * turn + 1, 3 * turn + 2])
        with pytest.raises(slipring.Busy):
            bus.subscriber("t", cursor="c")
        reader.say("end")
        reader.join()


def test_removing_a_topic_releases_waiters_of_other_processes(bus, processes):
    bus.create("t", capacity=4096)
    waiter = processes.start("""
        sub = bus.subscriber("t")
        say("ready")
        try:
            sub.recv()
        except slipring.TopicGone:
            say("gone")
    """)
    waiter.expect("ready")
    waiter.wait_until_asleep()
    bus.remove("t")
    waiter.expect("gone")
    waiter.join()


def test_a_publisher_waits_for_subscribers_of_other_processes(bus, processes, background):
    pub = bus.publisher("t", capacity=4096)
    waiting = background(pub.wait_for_subscribers, 2)
    readers = [processes.start("sub = bus.subscriber('t')\nsay('ready')\nhear()") for _ in range(2)]
    assert waiting.result() is True
    for reader in readers:
        reader.expect("ready")
