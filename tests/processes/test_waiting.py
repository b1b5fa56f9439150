# SPDX-License-Identifier: Apache-2.0
"""Promise 19: many topics, no processor time while idle, no lost wake-up."""

import random

import pytest

SMALL = {"capacity": 4096, "slots": 16}


def test_waiting_on_100_topics_returns_the_one_that_fired(bus, processes):
    waiter = processes.start("""
        subs = [bus.subscriber(f"t{number}") for number in range(100)]
        say("ready")
        while True:
            ready = slipring.wait(subs)
            say([(subs.index(sub), sub.recv(timeout=0).body) for sub in ready])
    """)
    waiter.expect("ready")
    pubs = [bus.publisher(f"t{number}", **SMALL) for number in range(100)]
    rng = random.Random(1)
    for turn in range(200):
        number = rng.randrange(100)
        if turn % 4 == 0:
            waiter.wait_until_asleep()
        pubs[number].send(b"%d" % turn)
        waiter.expect([(number, b"%d" % turn)])


IDLE = {
    "recv": "sub.recv(timeout=idle_s)",
    "recv_many": "sub.recv_many(9, timeout=idle_s)",
    "view": "sub.view(timeout=idle_s).__enter__()",
    "wait on one": "slipring.wait([sub], timeout=idle_s)",
    "wait on 100": "slipring.wait(subs[:100], timeout=idle_s)",
    "wait on 150": "slipring.wait(subs, timeout=idle_s)",
    "arecv": "asyncio.run(sub.arecv(timeout=idle_s))",
    "no topic yet": "bus.subscriber('never').recv(timeout=idle_s)",
    "only filtered": "bus.subscriber('t', start='oldest', ignore_senders=['p']).recv(timeout=idle_s)",
    "full ring": "send()",
    "wait_for_subscribers": "pub.wait_for_subscribers(9, timeout=idle_s)",
}


@pytest.mark.parametrize("wait", IDLE.values(), ids=IDLE)
def test_idle_waiting_uses_no_processor_time(bus, processes, wait):
    others = 150 if "subs" in wait else 0
    for number in range(others):
        bus.create(f"n{number}", **SMALL)
    child = processes.start(
        """
        import asyncio, resource, time
        pub, sub = bus.publisher("t", sender="p", capacity=4096, slots=16), bus.subscriber("t")
        pub.send(b"x"), sub.recv()
        full = bus.publisher("full", delivery="reliable", capacity=4096, slots=16)
        slow = bus.subscriber("full")
        full.send_many([b"x"] * 15)
        subs = [bus.subscriber(f"n{number}") for number in range(others)]

        def send():
            try:
                full.send(b"x", timeout=idle_s)
            except slipring.Full:
                pass

        def used():
            usage = resource.getrusage(resource.RUSAGE_SELF)
            return usage.ru_utime + usage.ru_stime

        before, start = used(), time.monotonic()
        eval(wait)
        say(used() - before, time.monotonic() - start)
        """,
        wait=wait,
        others=others,
        idle_s=2.0,
    )
    cpu, elapsed = child.hear()
    assert elapsed >= 1.999
    assert cpu < 0.25 * elapsed  # a loop that never sleeps has all of it
    child.join()


PING = """
    settings = {"capacity": 4096, "slots": 16}
    pub, sub = bus.publisher(out, **settings), bus.subscriber(into, start="oldest")
    say("ready")
    hear()
    for number in range(rounds):
        if first:
            pub.send(b"%d" % number)
        message = sub.recv()
        assert message.seq == number, (message, number)
        if not first:
            pub.send(message.body)
    say(sub.received, sub.lost)
    hear()
"""


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("parties", "rounds"), [(2, 200_000), (4, 10_000)])
def test_no_wake_up_is_lost_in_a_ring_of_processes(processes, parties, rounds):
    players = [
        processes.start(PING, out=f"t{(n + 1) % parties}", into=f"t{n}", first=n == 0, rounds=rounds)
        for n in range(parties)
    ]
    for player in players:
        player.expect("ready")
    for player in players:
        player.say("go")
    for player in players:
        assert player.hear(timeout=170) == (rounds, 0)


@pytest.mark.parametrize("wait", ["sub.recv()", "slipring.wait([sub, other]) and sub.recv(timeout=0)"])
def test_every_wake_up_of_a_sleeper_arrives(bus, processes, wait):
    """Each message is sent only once the receiver sleeps, so that every one has to wake it."""
    pub = bus.publisher("t", **SMALL)
    child = processes.start(
        """
        sub, other = bus.subscriber("t"), bus.subscriber("o")
        say("ready")
        while True:
            say(eval(wait).body)
        """,
        wait=wait,
    )
    child.expect("ready")
    for number in range(300):
        child.wait_until_asleep()
        pub.send(b"%d" % number)
        child.expect(b"%d" % number)


def test_a_blocked_sender_is_woken_by_a_reader_of_another_process(bus, processes):
    bus.create("t", delivery="reliable", **SMALL)
    sub = bus.subscriber("t")
    child = processes.start("""
        pub = bus.publisher("t")
        number = 0
        while True:
            try:
                pub.send(b"%d" % number, timeout=0)
            except slipring.Full:
                say("full", number)
                pub.send(b"%d" % number)
            number += 1
    """)
    expected = 15
    for _ in range(200):
        child.expect(("full", expected))
        child.wait_until_asleep()
        assert sub.recv().body == b"%d" % (expected - 15)
        expected += 1


def test_fan_out_wakes_every_sleeping_subscriber(bus, processes):
    pub = bus.publisher("t", **SMALL)
    script = "sub = bus.subscriber('t')\nsay('ready')\nwhile True: say(sub.recv().body)"
    readers = [processes.start(script) for _ in range(4)]
    for reader in readers:
        reader.expect("ready")
    for number in range(100):
        for reader in readers:
            reader.wait_until_asleep()
        pub.send(b"%d" % number)
        for reader in readers:
            reader.expect(b"%d" % number)
