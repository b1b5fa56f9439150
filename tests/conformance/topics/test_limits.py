# SPDX-License-Identifier: Apache-2.0
"""Promise 12: exclusive publishers, full tables, entries used again; others are not disturbed."""

import pytest

import slipring

pytestmark = pytest.mark.needs("tables", "reliable")

SMALL = {"capacity": 4096, "slots": 16}


def test_a_second_exclusive_publisher_is_refused_and_the_first_is_not_disturbed(bus):
    pub, sub = bus.publisher("t", writers="one", **SMALL), bus.subscriber("t")
    pub.send(b"a")
    for settings in ({}, {"writers": "one"}):
        with pytest.raises(slipring.Busy, match="t"):
            bus.publisher("t", **settings)
    pub.send(b"b")
    assert [m.body for m in sub.recv_many(9)] == [b"a", b"b"]


def test_an_exclusive_publisher_may_follow_a_closed_one(bus):
    sub = bus.subscriber("t")
    for number in range(5):
        with bus.publisher("t", writers="one", **SMALL) as pub:
            assert pub.send(b"%d" % number) == number
    assert [m.body for m in sub.recv_many(9)] == [b"0", b"1", b"2", b"3", b"4"]


def test_one_reliable_reader_over_the_limit_is_refused_and_disturbs_no_other(bus):
    pub = bus.publisher("t", delivery="reliable", max_readers=3, **SMALL)
    subs = [bus.subscriber("t") for _ in range(3)]
    for _ in range(5):
        with pytest.raises(slipring.TooManyReaders, match="max_readers"):
            bus.subscriber("t")
    pub.send(b"x")
    assert [sub.recv(timeout=0).body for sub in subs] == [b"x"] * 3
    subs.pop().close()
    with bus.subscriber("t") as sub:
        pub.send(b"y")
        assert sub.recv(timeout=0).body == b"y"


def test_one_publisher_over_the_limit_is_refused_and_disturbs_no_other(bus):
    sub = bus.subscriber("t")
    pubs = [bus.publisher("t", max_writers=2, **SMALL) for _ in range(2)]
    with pytest.raises(slipring.TooManyWriters, match="max_writers"):
        bus.publisher("t")
    for pub in pubs:
        pub.send(b"x")
    assert len(sub.recv_many(9)) == 2
    pubs.pop().close()
    bus.publisher("t").send(b"y")
    assert sub.recv(timeout=0).body == b"y"


def test_a_lossy_reader_over_the_limit_still_receives_everything(bus, background):
    pub = bus.publisher("t", max_readers=2, **SMALL)
    subs = [bus.subscriber("t") for _ in range(6)]
    entries = [sub.stats()["entry"] for sub in subs]
    assert sum(entry is None for entry in entries) == 4
    assert len(set(entries)) == 3
    for turn in range(20):
        pub.send_many([b"%d" % turn] * 5)
        for sub in subs:
            assert [m.body for m in sub.recv_many(9)] == [b"%d" % turn] * 5
            assert sub.lost == 0
    waits = [background(sub.recv) for sub in subs]
    pub.send(b"last")
    assert [waiting.result().body for waiting in waits] == [b"last"] * 6


@pytest.mark.needs("lapping")
def test_a_lossy_reader_without_an_entry_keeps_an_exact_account(bus):
    pub = bus.publisher("t", max_readers=1, **SMALL)
    first, extra = bus.subscriber("t"), bus.subscriber("t", ignore_types=["skip"])
    assert extra.stats()["entry"] is None
    for number in range(100):
        pub.send(b"x", type="skip" if number % 2 else "")
    extra.recv_many(1000)
    assert extra.lost > 0 < extra.filtered
    assert extra.received + extra.lost + extra.filtered == extra.position == 100
    assert first.recv(timeout=0) is not None


@pytest.mark.needs("in place")
def test_a_lossy_reader_without_an_entry_can_do_all_but_view(bus):
    pub = bus.publisher("t", max_readers=1, **SMALL)
    first, extra = bus.subscriber("t"), bus.subscriber("t")
    pub.send_many([b"a", b"b"])
    with pytest.raises(slipring.TooManyReaders, match="max_readers"), extra.view(timeout=0):
        pass
    assert extra.recv(timeout=0).body == b"a"
    assert slipring.wait([extra], timeout=0) == [extra]
    extra.seek("oldest")
    assert [m.body for m in extra.recv_many(9)] == [b"a", b"b"]
    with first.view(timeout=0) as message:
        assert bytes(message.body) == b"a"


def test_a_reader_over_the_limit_closes_without_harm(bus):
    pub = bus.publisher("t", max_readers=1, **SMALL)
    first = bus.subscriber("t")
    bus.subscriber("t").close()
    pub.send(b"x")
    assert first.recv(timeout=0).body == b"x"
    assert len(bus.stats("t")["readers"]) == 1


def test_thousands_of_short_lived_readers_reuse_their_entries(bus):
    pub = bus.publisher("t", delivery="reliable", max_readers=2, max_writers=2, **SMALL)
    for number in range(3000):
        with bus.subscriber("t", start="last") as sub:
            if number:
                assert sub.recv(timeout=0).seq == number - 1
            pub.send(b"x", timeout=0)
    with pytest.raises(slipring.TooManyReaders):
        _ = [bus.subscriber("t") for _ in range(3)]
    for _ in range(3000):
        bus.publisher("t").close()


def test_the_default_tables_take_64_readers_and_64_publishers(bus):
    subs = [bus.subscriber("t") for _ in range(64)]
    pubs = [bus.publisher("t", sender=str(number), delivery="reliable", **SMALL) for number in range(64)]
    assert all(sub.recv(timeout=0) is None for sub in subs)
    pubs[-1].send(b"x")
    assert [sub.recv(timeout=0).body for sub in subs] == [b"x"] * 64
    with pytest.raises(slipring.TooManyReaders):
        bus.subscriber("t")
    with pytest.raises(slipring.TooManyWriters):
        bus.publisher("t")
