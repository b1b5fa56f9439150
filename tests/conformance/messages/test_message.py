# SPDX-License-Identifier: Apache-2.0
"""A message is a value: named parts, equality, no change, no surprises."""

import copy
import pickle

import pytest

import slipring

PARTS = ("body", "sender", "type", "seq", "time_ns", "topic")


@pytest.fixture
def message(bus):
    pub, sub = bus.publisher("t", sender="gyro", capacity=4096), bus.subscriber("t")
    pub.send(b"zero")
    pub.send(b"body", type="imu.v1")
    return sub.recv_many(2)[1]


def test_a_message_has_the_parts_it_was_sent_with(message):
    assert (message.body, message.sender, message.type) == (b"body", "gyro", "imu.v1")
    assert (message.seq, message.topic) == (1, "t")
    assert type(message.time_ns) is int
    assert isinstance(message, slipring.Message)


def test_a_message_has_a_readable_repr(message):
    for part in ("gyro", "imu.v1", "1", "body"):
        assert part in repr(message)
    assert repr(message).startswith("Message(")


def test_the_repr_of_a_large_message_is_short(bus):
    pub, sub = bus.publisher("big", capacity="4MiB"), bus.subscriber("big")
    pub.send(bytes(1 << 20))
    assert len(repr(sub.recv(timeout=0))) < 2000


def test_a_message_cannot_be_changed(message):
    for part in PARTS:
        with pytest.raises(AttributeError):
            setattr(message, part, b"other")
        with pytest.raises(AttributeError):
            delattr(message, part)
    with pytest.raises(AttributeError):
        message.extra = 1
    assert not hasattr(message, "__dict__")


def test_messages_are_equal_by_value(bus, message):
    same = bus.subscriber("t", start=1).recv(timeout=0)
    other = bus.subscriber("t", start=0).recv(timeout=0)
    assert same is not message
    assert same == message
    assert (same != message) is False
    assert other != message
    assert message != b"body"
    assert message != (b"body", "gyro", "imu.v1", 1)
    assert hash(same) == hash(message)


def test_a_message_outlives_its_subscriber_and_its_place_in_the_ring(bus):
    pub, sub = bus.publisher("t", capacity=4096, slots=16), bus.subscriber("t")
    pub.send(b"kept")
    message = sub.recv(timeout=0)
    sub.close()
    pub.send_many([b"over"] * 1000)
    bus.close()
    assert message.body == b"kept"


def test_a_message_can_be_copied_and_pickled(message):
    assert copy.copy(message) == message
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_sequences_count_from_zero_and_are_never_reused(bus):
    seqs = []
    for _ in range(3):
        with bus.publisher("t", capacity=4096, slots=16) as pub:
            seqs += [pub.send(b"x") for _ in range(20)]
    assert seqs == list(range(60))
