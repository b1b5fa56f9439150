# SPDX-License-Identifier: Apache-2.0
"""Numbers that no call can mean: refused by the argument's name, or taken for the largest or the longest there is."""

import math

import pytest

import slipring

HUGE = 10**400


@pytest.mark.parametrize("us", [math.nan, -1, -math.inf, -HUGE])
def test_spinning_for_less_than_no_time_is_refused(bus, us):
    with bus.subscriber("t") as sub:
        before = sub.spin_us
        with pytest.raises(slipring.BadArgument) as refusal:
            sub.spin_us = us
        assert refusal.value.argument == "spin_us"
        assert sub.spin_us == before


def test_the_longest_time_to_spin_is_ten_seconds(bus):
    with bus.subscriber("t") as sub:
        for us in (math.inf, 1e300):
            sub.spin_us = us
            assert sub.spin_us == 1e7


def test_a_timeout_of_hundreds_of_digits_waits_without_limit(bus):
    with bus.publisher("t") as pub, bus.subscriber("t") as sub:
        pub.send(b"m")
        assert slipring.wait([sub], HUGE) == [sub]
        pub.wait_for_subscribers(1, HUGE)
        with pytest.raises(slipring.BadArgument) as refusal:
            slipring.wait([sub], -HUGE)
        assert refusal.value.argument == "timeout"


def test_more_messages_than_there_can_be_are_all_there_are(bus):
    with bus.publisher("t") as pub, bus.subscriber("t") as sub:
        pub.send_many([b"a", b"b"])
        assert [message.body for message in sub.recv_many(2**63)] == [b"a", b"b"]
        with pytest.raises(slipring.BadArgument) as refusal:
            sub.recv_batch(2**63)
        assert refusal.value.argument == "n"


@pytest.mark.parametrize("seq", [-1, 2**64])
def test_no_sequence_can_be_committed_by(bus, seq):
    bus.create("t", delivery="reliable")
    with bus.subscriber("t", cursor="c") as sub, pytest.raises(slipring.BadArgument) as refusal:
        sub.commit(seq)
    assert refusal.value.argument == "seq"


def test_a_subscriber_is_not_a_list_of_them(bus):
    with bus.publisher("t") as pub, bus.subscriber("t") as sub:
        pub.send(b"m")
        with pytest.raises(TypeError, match="subscribers must be a list"):
            slipring.wait(sub, 0.1)
        assert sub.recv(0).body == b"m"  # it was not read


@pytest.mark.parametrize("n", [math.nan, 1.5, "1"])
def test_how_many_is_a_whole_number(bus, n):
    with bus.publisher("t") as pub, pytest.raises(TypeError, match="n must be an integer"):
        pub.wait_for_subscribers(n, 0)
    with bus.join("t", sender="ann") as member, pytest.raises(slipring.BadArgument):
        member.recv_many(-1)


@pytest.mark.parametrize("service", ["", "a/b", "..", "a b"])
def test_a_service_that_cannot_be_is_named(bus, service):
    for opened in (bus.server, bus.client):
        with pytest.raises(slipring.BadArgument) as refusal:
            opened(service)
        assert refusal.value.argument == "service"
