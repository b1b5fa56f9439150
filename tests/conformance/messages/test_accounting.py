# SPDX-License-Identifier: Apache-2.0
"""Promise 3: received + lost + filtered = published, for every reader, under any pace."""

import asyncio
import random

import pytest

import slipring

pytestmark = pytest.mark.needs("ring")

SLOTS = 16  # of which one is kept unused
SMALL = {"capacity": 4096, "slots": SLOTS}


def balance(sub) -> int:
    return sub.received + sub.lost + sub.filtered


def drain(sub) -> list:
    return sub.recv_many(1 << 20, timeout=0)


@pytest.mark.needs("lapping")
@pytest.mark.parametrize("read_before", [0, 1, 5, 15, 16, 17])
def test_a_reader_any_number_of_messages_behind_counts_its_loss_exactly(bus, read_before):
    for behind in range(5 * SLOTS + 2):
        topic = f"t{behind}"
        pub, sub = bus.publisher(topic, **SMALL), bus.subscriber(topic)
        for number in range(read_before):
            pub.send(b"%d" % number)
            assert sub.recv(timeout=0).seq == number
        for number in range(behind):
            pub.send(b"%d" % (read_before + number))
        messages = drain(sub)
        published = read_before + behind
        assert [m.seq for m in messages] == list(range(published - len(messages), published))
        assert [m.body for m in messages] == [b"%d" % m.seq for m in messages]
        assert sub.lost == behind - len(messages)
        assert sub.lost > 0 if behind >= SLOTS else True
        assert len(messages) > 0 if behind else True
        assert sub.received == read_before + len(messages)
        pub.close()
        sub.close()
        bus.remove(topic)


@pytest.mark.parametrize("laps", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize("lap", [SLOTS, SLOTS - 1], ids=["slots", "usable slots"])
def test_a_reader_exactly_a_number_of_laps_behind_counts_its_loss(bus, laps, lap):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send_many([b"x"] * 3)
    drain(sub)
    pub.send_many([b"y"] * (laps * lap))
    first = sub.recv(timeout=0)
    assert first is not None, "a lapped reader was shown an empty topic"
    assert sub.lost == first.seq - 3
    drain(sub)
    assert balance(sub) == 3 + laps * lap


@pytest.mark.needs("lapping")
def test_a_reader_exactly_one_payload_lap_behind_counts_its_loss(bus):
    for size in (512, 1024, 2048, 4096):
        topic = f"t{size}"
        pub, sub = bus.publisher(topic, capacity=4096, slots=1024), bus.subscriber(topic)
        for lap in range(1, 20):
            pub.send_many([bytes([lap]) * size] * (4096 // size))
            if lap % 4 == 0:
                assert sub.recv(timeout=0).body == bytes([lap]) * size
        pub.send(bytes([20]) * size)
        assert drain(sub)[-1].body == bytes([20]) * size
        assert balance(sub) == bus.stats(topic)["published"]


def by_view(sub):
    with sub.view(timeout=0) as message:
        return message is not None


RECEIVES = {
    "recv": lambda sub: sub.recv(timeout=0),
    "recv_many": lambda sub: sub.recv_many(1),
    "recv_batch": lambda sub: sub.recv_batch(1).num_rows,
    "recv_into": lambda sub: sub.recv_into(bytearray(4096), timeout=0),
    "view": by_view,
    "wait": lambda sub: slipring.wait([sub], timeout=0),
    "arecv": lambda sub: asyncio.run(sub.arecv(timeout=0)),
    "iteration": lambda sub: next(iter(sub)),
}


@pytest.mark.parametrize("receive", RECEIVES.values(), ids=RECEIVES)
@pytest.mark.parametrize("sizes", [[8] * 16, [8] * 32, [8] * 100, [4096] * 2, [2729, 1364]], ids=len)
def test_a_lapped_reader_is_never_shown_an_empty_topic(bus, receive, sizes):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send_many([bytes(size) for size in sizes])
    assert receive(sub)
    drain(sub)
    assert balance(sub) == len(sizes)


def test_a_reader_counts_a_loss_with_the_message_after_it(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    expected = 0
    for _ in range(50):
        pub.send_many([b"x"] * 40)
        message = sub.recv(timeout=0)
        expected += message.seq - (expected + sub.received - 1)
        assert sub.lost == expected
        assert balance(sub) == sub.position == message.seq + 1


@pytest.mark.parametrize("seed", range(20))
def test_the_account_is_exact_for_every_reader_at_every_pace(bus, backend, seed):
    rng = random.Random(seed)
    slots = rng.choice([16, 32, 128])
    pub = bus.publisher("t", sender="p", capacity=rng.choice([4096, 16384]), slots=slots)
    subs = [bus.subscriber("t"), bus.subscriber("t", conflate=True), bus.subscriber("t", types=["a", "b"])]
    subs += [bus.subscriber("t", ignore_types=["a"]), bus.subscriber("t", ignore_senders=["p"])]
    paces = [rng.random() ** 2 for _ in subs]
    sent = {}
    for _ in range(400 // backend.step):
        for _ in range(rng.choice([0, 1, 2, slots - 1, slots, 3 * slots])):
            kind, body = rng.choice("abc"), rng.randbytes(rng.randrange(200))
            sent[pub.send(body, type=kind)] = (kind, body)
        for sub, pace in zip(subs, paces, strict=True):
            if rng.random() < pace:
                for message in sub.recv_many(rng.randrange(1, 2 * slots)):
                    assert (message.type, message.body) == sent[message.seq]
                assert balance(sub) == sub.position
    for sub in subs:
        drain(sub)
        assert balance(sub) == sub.position == len(sent) == bus.stats("t")["published"]
        assert sub.lag == 0
    assert subs[4].received == 0
    assert subs[4].filtered + subs[4].lost == len(sent)


def test_a_reader_sees_sequences_only_grow_while_it_is_lapped_by_a_thread(bus, backend, background):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    total = 100_000 // backend.step

    def publish() -> None:
        for number in range(total):
            pub.send(b"%d" % number)

    publishing = background(publish)
    seqs = []
    while not seqs or seqs[-1] < total - 1:
        for message in sub.recv_many(7, timeout=None):
            assert message.body == b"%d" % message.seq
            seqs.append(message.seq)
        assert balance(sub) == sub.position
    publishing.result()
    assert seqs == sorted(set(seqs))
    assert sub.received == len(seqs)
    assert sub.lost == total - len(seqs)


def abort(pub) -> None:
    with pytest.raises(KeyError), pub.loan(8):
        raise KeyError


@pytest.mark.needs("in place")
def test_an_abandoned_sequence_is_neither_received_nor_lost(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send(b"a")
    abort(pub)
    abort(pub)
    pub.send(b"b")
    assert [m.body for m in drain(sub)] == [b"a", b"b"]
    assert (sub.received, sub.lost, sub.filtered) == (2, 0, 0)
    stats = bus.stats("t")
    assert (stats["published"], stats["abandoned"]) == (2, 2)


@pytest.mark.parametrize("pattern", ["sa", "as", "saa", "ssa", "aaaaaaaaaaaaaaaaas", "saaaaaaaaaaaaaaaaa"])
def test_abandoned_sequences_in_a_lap_are_not_counted_as_lost(bus, pattern):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    committed = 0
    for step in range(30):
        for action in pattern * 5:
            if action == "s":
                pub.send(b"x")
                committed += 1
            else:
                abort(pub)
        if step % 3 == 2:
            drain(sub)
            assert balance(sub) == committed
    assert bus.stats("t")["published"] == committed


def test_lag_is_the_number_of_messages_between_position_and_tail(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    assert sub.lag == 0
    for number in range(10):
        pub.send(b"x")
        assert sub.lag == number + 1
    for number in range(10):
        sub.recv(timeout=0)
        assert sub.lag == 9 - number


def test_statistics_show_the_same_account_as_the_reader(bus):
    pub, sub = bus.publisher("t", sender="p", **SMALL), bus.subscriber("t", ignore_types=["skip"])
    pub.send_many([b"x"] * 100)
    pub.send(b"y", type="skip")
    drain(sub)
    (entry,) = bus.stats("t")["readers"]
    assert (entry["received"], entry["lost"], entry["filtered"]) == (sub.received, sub.lost, sub.filtered)
    assert sum((sub.received, sub.lost, sub.filtered)) == 101
    assert (entry["position"], entry["lag"]) == (101, 0)
