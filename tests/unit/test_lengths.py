# SPDX-License-Identifier: Apache-2.0
"""Promise 1: any length arrives byte for byte across every wrap position of the ring."""

import mmap
import random

import pytest

import slipring

CAPACITY = 4096
UNIT = 8  # payload is reserved in multiples of this, so these are all the wrap positions there are
PATTERN = random.Random(1).randbytes(2 * CAPACITY)


def body_of(length: int, stamp: int) -> bytes:
    start = stamp % CAPACITY
    return PATTERN[start : start + length]


def reserved(length: int) -> int:
    return max(UNIT, -(-length // UNIT) * UNIT)


class Positioned:
    """A publisher that can start the next message at a given payload position."""

    def __init__(self, bus) -> None:
        self.pub = bus.publisher("t", capacity=CAPACITY)
        self.sub = bus.subscriber("t")
        self.position = 0
        self.stamp = 0

    def send(self, length: int, at: int) -> None:
        gap = (at - self.position) % CAPACITY
        if gap:
            self.roundtrip(gap)
        self.roundtrip(length)

    def roundtrip(self, length: int) -> None:
        self.stamp += 1
        body = body_of(length, self.stamp * 7)
        seq = self.pub.send(body)
        self.position = (self.position + reserved(length)) % CAPACITY
        message = self.sub.recv(timeout=0)
        assert message.seq == seq
        assert message.body == body, f"length {length}, stamp {self.stamp}"


@pytest.mark.parametrize(
    "lengths", [range(0, 66), range(CAPACITY - 20, CAPACITY + 1)], ids=["short", "near limit"]
)
def test_a_message_arrives_byte_for_byte_from_every_start_position(bus, lengths):
    topic = Positioned(bus)
    for position in range(0, CAPACITY, UNIT):
        for length in lengths:
            topic.send(length, at=position)
    assert topic.sub.lost == 0


def test_every_length_arrives_byte_for_byte_when_its_end_is_around_the_wrap(bus):
    topic = Positioned(bus)
    for length in range(CAPACITY + 1):
        for end in (CAPACITY - UNIT, CAPACITY, CAPACITY + UNIT, CAPACITY + length // 2):
            topic.send(length, at=(end - reserved(length)) // UNIT * UNIT % CAPACITY)
    assert topic.sub.lost == 0


def test_a_body_of_4_gib_is_refused_before_it_is_read(bus):
    pub = bus.publisher("t", capacity=4096)
    with mmap.mmap(-1, 1 << 32) as body:  # without memory behind it until it is touched
        for use in (
            lambda: pub.send(body),
            lambda: pub.send(body, timeout=1),
            lambda: pub.send_many([b"", body]),
        ):
            with pytest.raises(slipring.TooLarge, match="4294967295"):
                use()
    assert bus.stats("t")["published"] == 0
