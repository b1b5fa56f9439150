# SPDX-License-Identifier: Apache-2.0
"""Time stands still unless a call waits or the test advances it: an hour costs nothing."""

import pytest

import slipring
from slipring.testing import SteppedBus

SMALL = {"capacity": 4096, "slots": 16}
HOUR = 3600.0


def by_view(sub):
    with sub.view(timeout=HOUR) as message:
        return message


WAITS = {
    "recv": lambda sub: sub.recv(timeout=HOUR),
    "recv_many": lambda sub: sub.recv_many(9, timeout=HOUR),
    "view": by_view,
    "wait": lambda sub: slipring.wait([sub], timeout=HOUR),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_time_out_passes_in_virtual_time(bus, wait):
    bus.create("t")
    assert not wait(bus.subscriber("t"))
    assert bus.clock.monotonic() == HOUR


def test_a_refused_send_has_waited_in_virtual_time(bus):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    pub.send_many([b"x"] * 15)
    with pytest.raises(slipring.Full):
        pub.send(b"y", timeout=HOUR)
    assert bus.clock.monotonic() == HOUR
    assert sub.lag == 15


def test_a_message_in_flight_arrives_before_time_passes(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send(b"x")
    assert sub.recv(timeout=HOUR).body == b"x"
    assert bus.clock.monotonic() == 0


def test_time_stamps_are_virtual(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send(b"a")
    bus.advance(1.5)
    pub.send(b"b")
    bus.run_until_idle()
    first, second = sub.recv_many(9)
    assert second.time_ns - first.time_ns == 1_500_000_000
    assert second.time_ns == bus.clock.time_ns()
    assert bus.stats("t")["created_ns"] == first.time_ns


def test_the_clock_begins_at_start_ns():
    with SteppedBus(start_ns=5) as bus:
        assert bus.clock.time_ns() == 5
        bus.clock.sleep(1e-9)
        assert (bus.clock.time_ns(), bus.clock.monotonic_ns()) == (6, 1)


def test_advance_delivers_nothing(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send(b"x")
    bus.advance(HOUR)
    assert sub.recv(timeout=0) is None
    assert bus.clock.monotonic() == HOUR


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1", None])
def test_time_never_moves_backwards(bus, seconds):
    with pytest.raises((slipring.BadArgument, TypeError)):
        bus.advance(seconds)
    assert bus.clock.monotonic() == 0


def test_time_outs_end_in_their_order_while_time_is_advanced(bus):
    bus.create("t")
    ended = []

    def wait(seconds: float) -> None:
        bus.subscriber("t").recv(timeout=seconds)
        ended.append((seconds, bus.clock.monotonic()))

    for seconds in (3.0, 1.0, 2.0):
        bus.spawn(wait, seconds)
    bus.advance(2.5)
    assert ended == [(1.0, 1.0), (2.0, 2.0)]
    bus.advance(0.5)
    assert ended[2:] == [(3.0, 3.0)]


def test_a_cursor_expires_in_virtual_time(bus):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    bus.subscriber("t", cursor="c", expires=HOUR).close()
    pub.send_many([b"x"] * 15)
    bus.advance(HOUR - 1)
    assert [cursor["age_s"] for cursor in bus.cursors("t")] == [HOUR - 1]
    with pytest.raises(slipring.Full):
        pub.send(b"x", timeout=0)
    bus.advance(1)
    assert pub.send(b"x", timeout=0) == 15


def test_a_publisher_that_waits_for_a_cursor_to_expire_lets_the_time_pass(bus):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    bus.subscriber("t", cursor="c", expires=HOUR).close()
    pub.send_many([b"x"] * 15)
    assert pub.send(b"x") == 15
    assert bus.clock.monotonic() == HOUR


def test_a_real_bus_has_the_real_clock(bus_root):
    import time

    with slipring.Bus("b", root=bus_root) as real:
        assert real.clock is time
