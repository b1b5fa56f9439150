# SPDX-License-Identifier: Apache-2.0
"""A full ring, the statistics and doctor name the process, subscriber or cursor that is in the way (promise 10)."""

import os

import pytest

import slipring
from crash.test_paused import RING, fill, lender


def test_the_process_of_a_paused_loan_is_named_by_stats_full_and_doctor(bus, processes):
    pub = bus.publisher("t", sender="other", **RING)
    pub.send(b"before")
    assert bus.stats("t")["open_claims"] == []
    child = lender(processes)
    child.stop()
    claim = {"seq": 1, "entry": 1, "pid": child.pid, "sender": "lender"}
    assert bus.stats("t")["open_claims"] == [claim]
    fill(pub)
    with pytest.raises(slipring.Full, match=rf"process {child.pid} .*'lender'.* message 1 "):
        pub.send(b"x", timeout=0)
    with pytest.raises(slipring.Full, match=f"process {child.pid} "):
        pub.send_many([b"x"], timeout=0.01)
    with pytest.raises(slipring.Full, match=f"process {child.pid} "), pub.loan(8, timeout=0.01):
        pass
    (finding,) = bus.doctor()
    assert finding["topic"] == "t"
    assert f"process {child.pid}" in finding["problem"]
    assert "stopped" in finding["problem"]
    assert f"kill -CONT {child.pid}" in finding["action"]
    child.resume()
    (finding,) = bus.doctor()
    assert "loan" in finding["problem"]
    child.say("commit")
    child.hear()
    assert bus.stats("t")["open_claims"] == []
    assert bus.doctor() == []
    pub.send(b"x")


def test_a_full_ring_names_the_subscriber_in_the_way(bus, processes):
    pub = bus.publisher("t", delivery="reliable", **RING)
    child = processes.start(
        """
        sub = bus.subscriber("t")
        say("there")
        hear()
        sub.recv_many(5)
        say("read")
        hear()
        view = sub.view()
        view.__enter__()
        say("holds")
        sub.recv_many(100)
        say("read")
        hear()
        """
    )
    child.expect("there")
    fill(pub)
    with pytest.raises(slipring.Full, match=f"process {child.pid} has not read message 0;"):
        pub.send(b"x", timeout=0)
    child.say("read")
    child.expect("read")
    fill(pub)
    with pytest.raises(slipring.Full, match=f"process {child.pid} has not read message 5;"):
        pub.send(b"x", timeout=0)
    child.say("hold")
    child.expect("holds")
    child.expect("read")
    fill(pub)
    with pytest.raises(slipring.Full, match=f"process {child.pid} holds message 5;"):
        pub.send(b"x", timeout=0)


def test_a_full_ring_names_the_cursor_in_the_way(bus):
    pub = bus.publisher("t", delivery="reliable", **RING)
    bus.subscriber("t", cursor="lake").close()
    fill(pub)
    with pytest.raises(
        slipring.Full, match="cursor 'lake', which is not attached, has not passed message 0;"
    ):
        pub.send(b"x", timeout=0)


def test_a_closed_publisher_with_a_view_of_a_loan_is_named(bus):
    pub, other = bus.publisher("t", sender="one", **RING), bus.publisher("t", sender="two")
    loan = pub.loan(8)
    view = loan.__enter__()
    pub.close()
    fill(other)
    with pytest.raises(slipring.Full, match=rf"this process, {os.getpid()} .*'one'.* message 0 "):
        other.send(b"x", timeout=0)
    assert [claim["sender"] for claim in bus.stats("t")["open_claims"]] == ["one"]
    view.release()
    del view, loan
    other.send(b"x")
