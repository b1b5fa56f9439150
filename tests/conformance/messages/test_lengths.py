# SPDX-License-Identifier: Apache-2.0
"""Promise 1: any length from 0 to the limit arrives byte for byte."""

import random

import pytest

import slipring

pytestmark = pytest.mark.needs("ring")

CAPACITY = 4096
UNIT = 8  # payload is reserved in multiples of this
PATTERN = random.Random(1).randbytes(2 * CAPACITY)


def body_of(length: int, stamp: int) -> bytes:
    start = stamp % CAPACITY
    return PATTERN[start : start + length]


def every_length(backend) -> list[int]:
    return [*range(0, CAPACITY, backend.step), CAPACITY]


def by_view(sub):
    with sub.view(timeout=0) as message:
        return bytes(message.body)


BUFFER = bytearray(CAPACITY)


def by_recv_into(sub):
    return bytes(sub.recv_into(BUFFER, timeout=0).body)


RECEIVERS = {
    "recv": lambda sub: sub.recv(timeout=0).body,
    "recv_many": lambda sub: sub.recv_many(1, timeout=0)[0].body,
    "recv_batch": lambda sub: sub.recv_batch(1, timeout=0).column("value")[0].as_py(),
    "view": by_view,
    "recv_into": by_recv_into,
    "iteration": lambda sub: next(iter(sub)).body,
}


def by_loan(pub, body):
    with pub.loan(len(body)) as view:
        view[:] = body


SENDERS = {
    "send": lambda pub, body: pub.send(body),
    "send_many": lambda pub, body: pub.send_many([body]),
    "loan": by_loan,
}


@pytest.mark.parametrize("receive", RECEIVERS.values(), ids=RECEIVERS)
def test_every_length_arrives_byte_for_byte_however_it_is_received(bus, backend, receive):
    pub, sub = bus.publisher("t", capacity=CAPACITY), bus.subscriber("t")
    lengths = every_length(backend)
    for length in lengths:
        body = body_of(length, length * 13)
        pub.send(body)
        assert receive(sub) == body
    assert (sub.received, sub.lost) == (len(lengths), 0)


@pytest.mark.parametrize("send", SENDERS.values(), ids=SENDERS)
def test_every_length_arrives_byte_for_byte_however_it_is_sent(bus, backend, send):
    pub, sub = bus.publisher("t", capacity=CAPACITY), bus.subscriber("t")
    for length in every_length(backend):
        body = body_of(length, length * 13)
        send(pub, body)
        assert sub.recv(timeout=0).body == body


@pytest.mark.parametrize(("sender", "type"), [("", ""), ("s", ""), ("gyro", "imu"), ("s" * 255, "t" * 255)])
def test_sender_and_type_take_their_share_of_the_largest_message(bus, sender, type):
    pub, sub = bus.publisher("t", sender=sender, capacity=CAPACITY), bus.subscriber("t")
    largest = CAPACITY - -(-(len(sender) + len(type)) // UNIT) * UNIT
    body = PATTERN[:largest]
    pub.send(body, type=type)
    message = sub.recv(timeout=0)
    assert (message.body, message.sender, message.type) == (body, sender, type)
    with pytest.raises(slipring.TooLarge):
        pub.send(PATTERN[: largest + 1], type=type)


@pytest.mark.parametrize("send", SENDERS.values(), ids=SENDERS)
@pytest.mark.parametrize("over", [1, 8, 100_000])
def test_a_message_over_the_limit_is_refused_and_the_topic_goes_on(bus, send, over):
    pub, sub = bus.publisher("t", capacity=CAPACITY), bus.subscriber("t")
    send(pub, b"before")
    with pytest.raises(slipring.TooLarge, match="capacity"):
        send(pub, bytes(CAPACITY + over))
    send(pub, b"after")
    assert [(m.seq, m.body) for m in sub.recv_many(9)] == [(0, b"before"), (1, b"after")]
    assert bus.stats("t")["published"] == 2


def test_a_message_over_the_limit_is_refused_at_once_although_the_ring_is_full(bus):
    pub, sub = bus.publisher("t", capacity=CAPACITY, delivery="reliable"), bus.subscriber("t")
    pub.send(bytes(CAPACITY))
    with pytest.raises(slipring.TooLarge):
        pub.send(bytes(CAPACITY + 1), timeout=None)
    assert len(sub.recv(timeout=0).body) == CAPACITY


def test_a_large_message_arrives_byte_for_byte_across_the_wrap(bus):
    pub, sub = bus.publisher("t", capacity="8MiB"), bus.subscriber("t")
    body = random.Random(2).randbytes(5 << 20)
    for turn in range(4):
        pub.send(body[turn:])
        assert sub.recv(timeout=0).body == body[turn:]


def test_messages_of_random_lengths_arrive_in_order(bus):
    pub, sub = bus.publisher("t", capacity="64KiB"), bus.subscriber("t")
    rng = random.Random(3)
    for _ in range(300):
        bodies = [body_of(rng.randrange(2000), rng.randrange(CAPACITY)) for _ in range(rng.randrange(1, 30))]
        for body in bodies:
            pub.send(body)
        assert [m.body for m in sub.recv_many(1000)] == bodies
    assert sub.lost == 0


@pytest.mark.needs("in place")
def test_a_body_of_4_gib_is_refused_for_that_and_not_for_the_capacity(bus):
    pub = bus.publisher("t", capacity=CAPACITY)
    with pytest.raises(slipring.TooLarge, match="4294967295") as refused, pub.loan(1 << 32):
        pass
    assert refused.value.argument == "body"
    assert "capacity=" not in str(refused.value)
