# SPDX-License-Identifier: Apache-2.0
"""Promise 15: several handles in one process, several threads on one handle: independent and correct."""

import pytest

pytestmark = pytest.mark.needs("threads", "reliable")

SMALL = {"capacity": 4096, "slots": 16}
THREADS = 4


def test_threads_sending_on_one_publisher_lose_and_mix_nothing(bus, background):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    count = 3000

    def publish(thread: int) -> list[int]:
        return [pub.send(b"%d:%d" % (thread, number) * 3) for number in range(count)]

    publishing = [background(publish, thread) for thread in range(THREADS)]
    got = {}
    while len(got) < THREADS * count:
        for message in sub.recv_many(100, timeout=None):
            got[message.seq] = message.body
    assert sorted(got) == list(range(THREADS * count))
    for thread, call in enumerate(publishing):
        seqs = call.result()
        assert seqs == sorted(seqs)
        assert [got[seq] for seq in seqs] == [b"%d:%d" % (thread, number) * 3 for number in range(count)]


def test_threads_receiving_on_one_subscriber_share_the_messages(bus, background):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    count = 8000

    def receive() -> list[int]:
        seqs = []
        while (message := sub.recv()).body != b"end":
            assert message.body == b"%d" % message.seq
            seqs.append(message.seq)
        return seqs

    receiving = [background(receive) for _ in range(THREADS)]
    for number in range(count):
        pub.send(b"%d" % number)
    for _ in range(THREADS):
        pub.send(b"end")
    results = [call.result() for call in receiving]
    assert all(seqs == sorted(seqs) for seqs in results)
    assert sorted(seq for seqs in results for seq in seqs) == list(range(count))
    assert (sub.received, sub.lost) == (count + THREADS, 0)


@pytest.mark.parametrize("writers", ["one", "many"])
def test_large_bodies_whose_copies_release_the_gil_are_not_mixed_up_by_threads(bus, background, writers):
    pub = bus.publisher("t", delivery="reliable", writers=writers, capacity="4MiB")
    sub = bus.subscriber("t")
    size, count = 256 << 10, 100

    def publish(thread: int) -> None:
        for number in range(count):
            pub.send(bytes([thread, number]) * (size // 2))

    def receive() -> list[tuple[int, bytes]]:
        got = []
        while (message := sub.recv()).body != b"end":
            assert message.body == message.body[:2] * (size // 2)
            got.append((message.seq, message.body[:2]))
        return got

    receiving = [background(receive) for _ in range(2)]
    publishing = [background(publish, thread) for thread in range(2)]
    for call in publishing:
        call.result()
    pub.send_many([b"end"] * 2)
    got = sorted(pair for call in receiving for pair in call.result())
    assert [seq for seq, _ in got] == list(range(2 * count))
    for thread in range(2):
        assert [mark[1] for _, mark in got if mark[0] == thread] == list(range(count))


def test_a_message_wakes_only_as_many_receivers_as_it_serves(bus, background):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    waits = [background(sub.recv) for _ in range(THREADS)]
    for waiting in waits:
        waiting.wait_until_asleep()
    for number in range(THREADS):
        pub.send(b"%d" % number)
    assert {waiting.result().body for waiting in waits} == {b"%d" % number for number in range(THREADS)}


def test_receiving_in_a_thread_other_than_the_creators_works(bus, background):
    pub = bus.publisher("t", **SMALL)
    sub = background(bus.subscriber, "t").result()
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    background(pub.send, b"x").result()
    assert waiting.result().body == b"x"


def test_the_main_thread_runs_while_another_waits(bus, background):
    """The GIL is released in every wait: the waiting thread sleeps in the kernel and this one goes on."""
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    assert sum(range(100_000)) == 4999950000
    pub.send(b"x")
    assert waiting.result().body == b"x"


def test_handles_of_one_process_are_independent(bus, backend):
    with backend.open("test") as twin:
        pubs = [bus.publisher("t", **SMALL), twin.publisher("t")]
        subs = [bus.subscriber("t"), bus.subscriber("t"), twin.subscriber("t")]
        for number in range(10):
            pubs[number % 2].send(b"%d" % number)
        subs[1].recv_many(4)
        pubs[1].close()
        subs[0].close()
        assert [m.seq for m in subs[1].recv_many(100)] == list(range(4, 10))
        assert [m.seq for m in subs[2].recv_many(100)] == list(range(10))
    pubs[0].send(b"x")
    assert subs[1].recv(timeout=0).body == b"x"


def test_views_and_loans_of_several_threads_do_not_disturb_each_other(bus, background):
    pub = bus.publisher("t", capacity="64KiB", slots=64)
    count = 1000

    def publish(thread: int) -> None:
        for number in range(count):
            body = b"%d:%d" % (thread, number) * 20
            with pub.loan(len(body), timeout=None) as view:
                view[:] = body

    def read(sub) -> int:
        while sub.position < THREADS * count:
            with sub.view(timeout=None) as message:
                body = bytes(message.body)
                assert body == body[: len(body) // 20] * 20
        return sub.received + sub.lost

    reading = [background(read, bus.subscriber("t")) for _ in range(2)]
    publishing = [background(publish, thread) for thread in range(THREADS)]
    for call in publishing:
        call.result()
    assert [call.result() for call in reading] == [THREADS * count] * 2


def test_threads_may_attach_one_subscriber_at_once(bus, background):
    for turn in range(20):
        sub = bus.subscriber(f"t{turn}", cursor="c")
        received: list[int] = []

        def take(sub=sub, received=received):
            while len(received) < 8:
                message = sub.recv(timeout=0)
                if message is not None:
                    received.append(message.seq)

        threads = [background(take) for _ in range(4)]
        bus.publisher(f"t{turn}", delivery="reliable", capacity=4096, slots=16).send_many([b"x"] * 8)
        for thread in threads:
            thread.result()
        assert sorted(received) == list(range(8))
        sub.close()
