# SPDX-License-Identifier: Apache-2.0
"""Promise 7: timeout=0 never waits, None waits, a number is honoured whatever arrives meanwhile."""

from pathlib import Path

import pytest

import slipring

pytestmark = pytest.mark.needs("reliable")

SMALL = {"capacity": 4096, "slots": 16}


def by_view(sub, timeout):
    with sub.view(timeout=timeout) as message:
        return message


RECEIVES = {
    "recv": lambda sub, timeout: sub.recv(timeout=timeout),
    "recv by position": lambda sub, timeout: sub.recv(timeout),
    "recv_many": lambda sub, timeout: sub.recv_many(8, timeout=timeout),
    "recv_batch": lambda sub, timeout: sub.recv_batch(8, timeout=timeout).num_rows,
    "recv_into": lambda sub, timeout: sub.recv_into(bytearray(100), timeout=timeout),
    "view": by_view,
    "wait": lambda sub, timeout: slipring.wait([sub], timeout),
}


def send_by_loan(pub, timeout):
    with pub.loan(1, timeout=timeout):
        pass


SENDS = {
    "send": lambda pub, timeout: pub.send(b"x", timeout=timeout),
    "send_many": lambda pub, timeout: pub.send_many([b"x"], timeout=timeout),
    "loan": send_by_loan,
}


def sleeps() -> int:
    status = Path("/proc/thread-self/status").read_text()
    return int(status.split("nonvoluntary")[0].split("voluntary_ctxt_switches:")[1])


@pytest.fixture
def sub(bus):
    bus.create("t", **SMALL)
    return bus.subscriber("t")


@pytest.fixture
def full(bus):
    """The publisher of a reliable topic whose ring a subscriber keeps full, and that subscriber."""
    pub, sub = bus.publisher("r", delivery="reliable", **SMALL), bus.subscriber("r")
    with pytest.raises(slipring.Full):
        while True:
            pub.send(b"x", timeout=0)
    return pub, sub


@pytest.mark.needs("no round trips")
@pytest.mark.parametrize("receive", RECEIVES.values(), ids=RECEIVES)
def test_a_time_out_of_zero_never_waits_to_receive(sub, receive):
    receive(sub, 0)
    before = sleeps()
    for zero in (0, 0.0, -0.0, False) * 10:
        assert not receive(sub, zero)
    assert sleeps() == before


@pytest.mark.needs("no round trips")
@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_time_out_of_zero_never_waits_to_send(full, send):
    pub, _ = full
    before = sleeps()
    for _ in range(20):
        with pytest.raises(slipring.Full):
            send(pub, 0)
    assert sleeps() == before


@pytest.mark.parametrize("receive", RECEIVES.values(), ids=RECEIVES)
@pytest.mark.parametrize("timeout", [1e-9, 0.001, 0.05, 0.2])
def test_a_receiver_waits_for_its_time_out(bus, sub, receive, timeout):
    start = bus.clock.monotonic()
    assert not receive(sub, timeout)
    assert bus.clock.monotonic() - start >= timeout - 0.001


@pytest.mark.parametrize("timeout", [1e-9, 0.001, 0.05])
def test_a_task_waits_for_its_time_out(bus, sub, run, timeout):
    start = bus.clock.monotonic()
    assert run(sub.arecv(timeout)) is None
    assert bus.clock.monotonic() - start >= timeout - 0.001


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_sender_waits_for_its_time_out_and_is_then_refused(bus, full, send):
    pub, sub = full
    start = bus.clock.monotonic()
    with pytest.raises(slipring.Full):
        send(pub, 0.1)
    assert bus.clock.monotonic() - start >= 0.099
    assert {m.body for m in sub.recv_many(100)} == {b"x"}


@pytest.mark.parametrize("timeout", [None, 1e300, float("inf"), 1 << 62, 10_000_000], ids=str)
@pytest.mark.parametrize("receive", RECEIVES.values(), ids=RECEIVES)
def test_a_receiver_without_a_time_out_waits_until_a_message_comes(bus, sub, background, receive, timeout):
    waiting = background(receive, sub, timeout)
    waiting.wait_until_asleep()
    assert not waiting.done
    bus.publisher("t").send(b"x")
    assert waiting.result()


@pytest.mark.parametrize("timeout", [None, 1e300], ids=str)
@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_sender_without_a_time_out_waits_until_there_is_room(full, background, send, timeout):
    pub, sub = full
    waiting = background(send, pub, timeout)
    waiting.wait_until_asleep()
    assert not waiting.done
    sub.recv_many(100)
    waiting.result()
    assert len(sub.recv_many(100)) == 1


WRONG = [(-1, slipring.BadArgument), (-0.001, slipring.BadArgument), (float("nan"), slipring.BadArgument)]
WRONG += [(float("-inf"), slipring.BadArgument), ("1", TypeError), (b"1", TypeError), ([1], TypeError)]


@pytest.mark.parametrize(("timeout", "error"), WRONG, ids=[repr(timeout) for timeout, _ in WRONG])
@pytest.mark.parametrize("receive", RECEIVES.values(), ids=RECEIVES)
def test_a_wrong_time_out_is_refused_by_name_and_consumes_nothing(bus, sub, receive, timeout, error):
    bus.publisher("t").send(b"x")
    with pytest.raises(error, match="timeout"):
        receive(sub, timeout)
    assert sub.recv(timeout=0).body == b"x"


@pytest.mark.parametrize(("timeout", "error"), WRONG, ids=[repr(timeout) for timeout, _ in WRONG])
def test_a_wrong_time_out_of_a_task_is_refused_by_name_and_consumes_nothing(bus, sub, run, timeout, error):
    bus.publisher("t").send(b"x")
    with pytest.raises(error, match="timeout"):
        run(sub.arecv(timeout))
    assert sub.recv(timeout=0).body == b"x"


@pytest.mark.parametrize(("timeout", "error"), WRONG, ids=[repr(timeout) for timeout, _ in WRONG])
@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_wrong_time_out_is_refused_by_name_and_sends_nothing(bus, sub, send, timeout, error):
    pub = bus.publisher("t")
    with pytest.raises(error, match="timeout"):
        send(pub, timeout)
    assert sub.recv(timeout=0) is None
    assert bus.stats("t")["published"] == 0


@pytest.mark.parametrize(("timeout", "error"), WRONG, ids=[repr(timeout) for timeout, _ in WRONG])
def test_a_wrong_time_out_of_wait_for_subscribers_is_refused_by_name(bus, timeout, error):
    pub = bus.publisher("t", **SMALL)
    with pytest.raises(error, match="timeout"):
        pub.wait_for_subscribers(1, timeout=timeout)


def test_the_default_of_send_waits_on_a_reliable_topic(full, background):
    pub, sub = full
    waiting = background(pub.send, b"last")
    waiting.wait_until_asleep()
    sub.recv_many(100)
    waiting.result()
    assert sub.recv(timeout=0).body == b"last"


def test_the_default_of_recv_waits_and_of_recv_many_does_not(bus, sub, background):
    assert sub.recv_many() == []
    assert sub.recv_batch().num_rows == 0
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    bus.publisher("t").send(b"x")
    assert waiting.result().body == b"x"


def test_recv_many_returns_what_is_there_instead_of_waiting_for_all(bus, sub):
    bus.publisher("t").send_many([b"x"] * 3)
    assert len(sub.recv_many(10, timeout=None)) == 3
    bus.publisher("t").send_many([b"x"] * 3)
    assert sub.recv_batch(10, timeout=None).num_rows == 3


def test_waiting_for_more_subscribers_than_the_table_holds_is_refused(bus):
    pub = bus.publisher("t", **SMALL, max_readers=2)
    assert pub.wait_for_subscribers(2, timeout=0) is False
    with pytest.raises(slipring.BadArgument, match=r"n=3, .*max_readers=2") as caught:
        pub.wait_for_subscribers(3)
    assert caught.value.argument == "n"


def test_wait_for_subscribers_counts_living_subscribers(bus, background):
    pub = bus.publisher("t", **SMALL)
    assert pub.wait_for_subscribers(1, timeout=0) is False
    start = bus.clock.monotonic()
    assert pub.wait_for_subscribers(timeout=0.05) is False
    assert bus.clock.monotonic() - start >= 0.049
    first = bus.subscriber("t")
    assert pub.wait_for_subscribers(timeout=0) is True
    waiting = background(pub.wait_for_subscribers, 2)
    waiting.wait_until_asleep()
    second = bus.subscriber("t")
    assert waiting.result() is True
    second.close()
    assert pub.wait_for_subscribers(2, timeout=0) is False
    first.close()
    assert pub.wait_for_subscribers(1, timeout=0) is False
