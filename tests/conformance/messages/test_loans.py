# SPDX-License-Identifier: Apache-2.0
"""Promise 8, writing: a loan is filled in place, seen whole when committed and never when aborted."""

import gc

import pytest

import slipring

SMALL = {"capacity": 4096, "slots": 16}


@pytest.fixture
def pair(bus):
    return bus.publisher("t", sender="p", **SMALL), bus.subscriber("t")


def test_a_loan_is_a_writable_view_that_becomes_a_message(pair):
    pub, sub = pair
    loan = pub.loan(8, type="cloud")
    with loan as view:
        assert isinstance(view, memoryview)
        assert not view.readonly
        assert (view.format, view.ndim, view.nbytes) == ("B", 1, 8)
        view[:] = b"in place"
        assert sub.recv(timeout=0) is None
    message = sub.recv(timeout=0)
    assert (message.body, message.type, message.sender, message.seq) == (b"in place", "cloud", "p", 0)
    assert loan.seq == 0


def test_the_view_of_a_loan_is_unusable_after_commit(pair):
    pub, sub = pair
    with pub.loan(8) as view:
        view[:] = b"in place"
    with pytest.raises(ValueError):
        view[0] = 1
    assert sub.recv(timeout=0).body == b"in place"


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit, slipring.Closed])
def test_an_aborted_loan_is_invisible_and_the_error_propagates(pair, error):
    pub, sub = pair
    with pytest.raises(error), pub.loan(8) as view:
        view[:] = b"in place"
        raise error("abort")
    with pytest.raises(ValueError):
        view[0] = 1
    assert sub.recv(timeout=0) is None
    pub.send(b"next")
    assert [m.body for m in sub.recv_many(9)] == [b"next"]
    assert (sub.received, sub.lost) == (1, 0)


@pytest.mark.needs("in place")
def test_messages_behind_an_open_loan_wait_for_it_and_keep_their_order(pair):
    pub, sub = pair
    with pub.loan(5) as view:
        pub.send(b"second")
        assert sub.recv(timeout=0) is None
        view[:] = b"first"
    assert [(m.seq, m.body) for m in sub.recv_many(9)] == [(0, b"first"), (1, b"second")]


@pytest.mark.needs("in place")
def test_several_loans_may_be_open_and_end_in_any_order(pair):
    pub, sub = pair
    loans = [pub.loan(1) for _ in range(5)]
    views = [loan.__enter__() for loan in loans]
    for number, view in enumerate(views):
        view[:] = b"%d" % number
    for number in (4, 1, 3, 0, 2):
        if number == 3:
            loans[number].__exit__(KeyError, KeyError(), None)
        else:
            loans[number].__exit__(None, None, None)
    assert [m.body for m in sub.recv_many(9)] == [b"0", b"1", b"2", b"4"]
    assert [loans[number].seq for number in (0, 1, 2, 4)] == [0, 1, 2, 4]
    assert (sub.received, sub.lost, sub.position) == (4, 0, 5)


@pytest.mark.needs("in place")
def test_a_waiter_behind_an_aborted_loan_is_woken_by_the_next_message(pair, background):
    pub, sub = pair
    loan = pub.loan(8)
    loan.__enter__()
    pub.send(b"behind")
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    loan.__exit__(KeyError, KeyError(), None)
    assert waiting.result().body == b"behind"


def test_a_waiter_is_woken_by_the_commit_of_a_loan(pair, background):
    pub, sub = pair
    with pub.loan(4) as view:
        waiting = background(sub.recv)
        waiting.wait_until_asleep()
        view[:] = b"here"
    assert waiting.result().body == b"here"


def test_a_loan_that_is_dropped_unfinished_delays_no_reader(pair):
    pub, sub = pair
    pub.loan(8)
    loan = pub.loan(8)
    loan.__enter__()
    pub.send(b"behind")
    del loan
    gc.collect()
    assert [m.body for m in sub.recv_many(9)] == [b"behind"]
    assert (sub.received, sub.lost) == (1, 0)


@pytest.mark.parametrize("size", [0, 1, 4096])
def test_a_loan_has_exactly_the_size_asked_for(bus, size):
    pub, sub = bus.publisher("plain", **SMALL), bus.subscriber("plain")
    with pub.loan(size) as view:
        assert len(view) == size
        view[:] = bytes(size)
    assert sub.recv(timeout=0).body == bytes(size)


@pytest.mark.parametrize(
    ("size", "error"),
    [
        (-1, slipring.BadArgument),
        (4097, slipring.TooLarge),
        (1 << 70, (slipring.TooLarge, slipring.BadArgument)),
        ("8", TypeError),
        (1.5, TypeError),
        (None, TypeError),
    ],
)
def test_a_loan_of_a_wrong_size_is_refused_and_the_topic_goes_on(pair, size, error):
    pub, sub = pair
    with pytest.raises(error), pub.loan(size):
        pass
    pub.send(b"next")
    assert sub.recv(timeout=0).body == b"next"


@pytest.mark.needs("in place")
def test_open_loans_fill_the_ring_up_to_a_typed_error(pair):
    pub, sub = pair
    loans = []
    with pytest.raises(slipring.Full):
        for _ in range(100):
            loan = pub.loan(8, timeout=0)
            loan.__enter__()
            loans.append(loan)
    assert len(loans) == 15
    for loan in loans:
        loan.__exit__(None, None, None)
    assert len(sub.recv_many(100)) == 15
    pub.send(b"next")
    assert sub.recv(timeout=0).body == b"next"


def test_a_loan_of_one_thread_may_be_committed_by_another(pair, background):
    pub, sub = pair
    loan = pub.loan(4)
    view = loan.__enter__()

    def finish() -> None:
        view[:] = b"done"
        loan.__exit__(None, None, None)

    background(finish).result()
    assert sub.recv(timeout=0).body == b"done"


def test_a_partly_filled_loan_is_never_a_short_message(pair):
    pub, sub = pair
    with pub.loan(100) as view:
        view[:5] = b"start"
    body = sub.recv(timeout=0).body
    assert len(body) == 100
    assert body.startswith(b"start")
