# SPDX-License-Identifier: Apache-2.0
"""Promise 5: conflate gives exactly the newest; a late joiner can have the last value."""

import pytest

import slipring

pytestmark = pytest.mark.needs("history")

SMALL = {"capacity": 4096, "slots": 16}


@pytest.fixture
def pub(bus):
    return bus.publisher("t", **SMALL)


@pytest.mark.parametrize("sent", [1, 2, 14, 15, 16, 17, 32, 1000])
def test_a_conflating_reader_gets_exactly_the_newest(bus, pub, sent):
    sub = bus.subscriber("t", conflate=True)
    pub.send_many([b"%d" % number for number in range(sent)])
    assert sub.recv(timeout=0).body == b"%d" % (sent - 1)
    assert sub.recv(timeout=0) is None
    assert sub.received == 1
    assert sub.received + sub.lost + sub.filtered == sub.position == sent


def test_messages_passed_over_by_conflation_count_as_filtered_while_they_were_retained(bus, pub):
    sub = bus.subscriber("t", conflate=True)
    pub.send_many([b"x"] * 10)
    sub.recv(timeout=0)
    assert (sub.received, sub.lost, sub.filtered) == (1, 0, 9)


def test_a_conflating_reader_that_keeps_up_gets_every_message(bus, pub):
    sub = bus.subscriber("t", conflate=True)
    for number in range(50):
        pub.send(b"%d" % number)
        assert sub.recv(timeout=0).body == b"%d" % number
    assert (sub.received, sub.lost, sub.filtered) == (50, 0, 0)


def test_a_late_joiner_that_conflates_has_the_last_value(bus, pub):
    pub.send_many([b"%d" % number for number in range(40)])
    for start in ("last", "oldest", 30):
        sub = bus.subscriber("t", start=start, conflate=True)
        assert [m.body for m in sub.recv_many(9)] == [b"39"]
    assert bus.subscriber("t", start="new", conflate=True).recv(timeout=0) is None


def test_conflating_applies_to_every_way_of_receiving(bus, pub):
    subs = [bus.subscriber("t", conflate=True) for _ in range(5)]
    pub.send_many([b"%03d" % number for number in range(12)])
    assert [m.body for m in subs[0].recv_many(100)] == [b"011"]
    assert subs[1].recv_batch(100).column("value").to_pylist() == [b"011"]
    assert bytes(subs[2].recv_into(bytearray(8), timeout=0).body) == b"011"
    with subs[3].view(timeout=0) as message:
        assert bytes(message.body) == b"011"
    assert next(iter(subs[4])).body == b"011"
    for sub in subs:
        assert (sub.received, sub.filtered, sub.lag) == (1, 11, 0)


def test_a_conflating_reader_passes_over_an_aborted_newest(bus, pub):
    sub = bus.subscriber("t", conflate=True)
    pub.send_many([b"a", b"b"])
    with pytest.raises(KeyError), pub.loan(8):
        raise KeyError
    assert sub.recv(timeout=0).body == b"b"
    assert (sub.received, sub.filtered, sub.lost) == (1, 1, 0)


@pytest.mark.needs("in place")
@pytest.mark.parametrize("commit", [True, False], ids=["committed", "aborted"])
def test_a_conflating_reader_passes_over_an_open_loan_which_counts_once_it_has_settled(bus, pub, commit):
    sub = bus.subscriber("t", conflate=True)
    loan = pub.loan(1)
    loan.__enter__()
    pub.send(b"newest")
    assert sub.recv(timeout=0).body == b"newest"
    loan.__exit__(*((None, None, None) if commit else (KeyError, KeyError(), None)))
    assert sub.recv(timeout=0) is None
    assert (sub.received, sub.lost, sub.filtered) == (1, 0, int(commit))


def test_a_conflating_reader_with_a_filter_gets_the_newest_that_passes(bus, pub):
    sub = bus.subscriber("t", conflate=True, types=["wanted"])
    pub.send(b"1", type="wanted")
    pub.send(b"2", type="wanted")
    pub.send(b"3", type="other")
    assert sub.recv(timeout=0).body == b"2"
    assert sub.recv(timeout=0) is None
    pub.send(b"4", type="other")
    assert sub.recv(timeout=0) is None
    assert sub.received + sub.lost + sub.filtered == 4


def test_a_conflating_reader_on_a_reliable_topic_gets_the_newest_and_frees_the_rest(bus):
    pub = bus.publisher("r", delivery="reliable", **SMALL)
    sub = bus.subscriber("r", conflate=True)
    for turn in range(10):
        pub.send_many([b"%d" % turn] * 14, timeout=0)
        assert sub.recv(timeout=0).seq == turn * 14 + 13
    assert (sub.received, sub.lost, sub.filtered) == (10, 0, 130)


def test_a_conflating_reader_that_passes_over_everything_holds_no_publisher(bus):
    pub = bus.publisher("r", delivery="reliable", **SMALL)
    sub = bus.subscriber("r", conflate=True, types=["wanted"])
    for turn in range(10):
        pub.send_many([b"x"] * 15, type="other", timeout=0)
        assert sub.recv(timeout=0) is None
        assert (sub.received, sub.lost, sub.filtered) == (0, 0, 15 * (turn + 1))


@pytest.mark.parametrize("sent", [15, 16, 17, 100])
def test_a_lapped_conflating_reader_with_a_filter_is_not_taken_for_damage(bus, pub, sent):
    sub = bus.subscriber("t", conflate=True, types=["wanted"])
    pub.send_many([b"x"] * sent, type="other")
    assert slipring.wait([sub], timeout=0) == []
    assert sub.recv(timeout=0) is None
    pub.send(b"here", type="wanted")
    pub.send_many([b"x"] * 5, type="other")
    assert slipring.wait([sub], timeout=0) == [sub]
    assert sub.recv(timeout=0).body == b"here"
    assert sub.recv(timeout=0) is None
    assert sub.received + sub.lost + sub.filtered == sent + 6


def test_a_waiting_conflating_reader_is_woken(bus, pub, background):
    sub = bus.subscriber("t", conflate=True)
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    pub.send(b"x")
    assert waiting.result().body == b"x"


def test_a_check_of_a_conflating_reader_passes_an_aborted_message(bus, pub):
    sub = bus.subscriber("t", conflate=True)
    with pytest.raises(ZeroDivisionError), pub.loan(8):
        raise ZeroDivisionError
    assert slipring.wait([sub], timeout=0) == []
    pub.send(b"x")
    assert sub.recv(timeout=5).body == b"x"
    assert (sub.received, sub.lost, sub.filtered, sub.lag) == (1, 0, 0, 0)
