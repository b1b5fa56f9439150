# SPDX-License-Identifier: Apache-2.0
"""What passes messages on (bridges, replays) keeps their sender, type and time."""

import pytest

import slipring


@pytest.fixture
def pub(bus):
    return bus.publisher("t", sender="bridge")


def test_sender_type_and_time_are_kept(bus, pub):
    sub = bus.subscriber("t")
    pub._send_as(b"far", "pose", "gyro", 1_700_000_000_123_456_789)
    message = sub.recv(timeout=0)
    assert (message.body, message.type, message.sender) == (b"far", "pose", "gyro")
    assert message.time_ns == 1_700_000_000_123_456_789


def test_ones_own_messages_between_them_stay_ones_own(bus, pub):
    sub = bus.subscriber("t")
    pub.send(b"1", type="a")
    pub._send_as(b"2", "a", "some other sender", 5)
    pub.send(b"3", type="a")
    pub._send_as(b"4", "", "", 6)
    with pub.loan(1) as view:
        view[:] = b"5"
    pub.send_many([b"6"], type="b")
    assert [(m.body, m.type, m.sender) for m in sub.recv_many()] == [
        (b"1", "a", "bridge"),
        (b"2", "a", "some other sender"),
        (b"3", "a", "bridge"),
        (b"4", "", ""),
        (b"5", "", "bridge"),
        (b"6", "b", "bridge"),
    ]


def test_a_sender_too_long_is_refused_by_name(pub):
    with pytest.raises(slipring.BadArgument, match="sender"):
        pub._send_as(b"", "", "x" * 256, 1)
