# SPDX-License-Identifier: Apache-2.0
"""Processes are killed while they hold a loan, a view, a position or a cursor (promise 9, invariants 4 and 8)."""

import pytest

import slipring
from crash.rings import RING, fill, lender
from support.waiting import eventually


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_message_of_a_killed_loan_holder_is_never_seen_and_those_behind_it_are(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    sub = bus.subscriber("t")
    pub.send(b"before")
    child = lender(processes)
    behind = pub.send(b"behind")
    assert sub.recv(timeout=60).body == b"before"
    assert sub.recv(timeout=0) is None, "order: the claimed message comes first"
    child.kill()
    message = sub.recv(timeout=60)
    assert (message.body, message.seq) == (b"behind", behind)
    assert (sub.received, sub.lost, sub.filtered) == (2, 0, 0)


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_waiter_behind_a_killed_loan_holder_goes_on_by_itself(bus, processes, background, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    sub = bus.subscriber("t")
    child = lender(processes)
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    behind = pub.send(b"behind")
    waiting.wait_until_asleep()
    child.kill()
    assert waiting.result().seq == behind


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_message_behind_a_dead_loan_arrives_when_no_publisher_is_left_to_clear_it(bus, processes, delivery):
    bus.create("t", delivery=delivery, **RING)
    sub = bus.subscriber("t")
    child = lender(processes)
    with bus.publisher("t") as pub:
        behind = pub.send(b"behind")
    child.kill()
    assert sub.recv(timeout=60).seq == behind
    assert sub.position == behind + 1


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_publishers_go_round_the_ring_past_a_killed_loan_holder(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    child = lender(processes)
    fill(pub, b"n")
    child.kill()
    for number in range(100):
        pub.send(b"%d" % number, timeout=60)
    stats = bus.stats("t")
    assert stats["abandoned"] == 1
    assert stats["published"] + stats["abandoned"] == stats["tail"]


def test_publisher_killed_between_two_loans_and_a_batch_leaves_counters_that_add_up(bus, processes):
    sub = bus.subscriber("t")
    child = processes.start(
        """
        pub = bus.publisher("t", delivery="reliable", sender="p")
        pub.send_many([b"1", b"2", b"3"])
        loans = [pub.loan(8) for _ in range(3)]
        views = [loan.__enter__() for loan in loans]
        pub.send(b"4")
        loans[1].__exit__(None, None, None)
        say(loans[1].seq)
        hear()
        """
    )
    assert child.hear() == 4
    child.kill()
    assert [m.seq for m in (sub.recv(timeout=60) for _ in range(5))] == [0, 1, 2, 4, 6]
    bus.publisher("t").close()
    stats = bus.stats("t")
    assert (stats["published"], stats["abandoned"], stats["tail"]) == (5, 2, 7)
    assert stats["publishers"] == [] or all(entry["alive"] for entry in stats["publishers"])


def test_killed_reliable_subscriber_stops_holding_back_the_publisher(bus, processes, background):
    pub = bus.publisher("t", delivery="reliable", **RING)
    child = processes.start("""sub = bus.subscriber("t"); say("there"); hear()""")
    child.expect("there")
    fill(pub, b"n")
    blocked = background(pub.send, b"next")
    blocked.wait_until_asleep()
    child.kill()
    blocked.result()
    for _ in range(100):
        pub.send(b"n", timeout=0)
    eventually(lambda: bus.subscriber("t").close() or bus.stats("t")["readers"] == [])


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_killed_holder_of_a_view_releases_it(bus, processes, delivery):
    pub = bus.publisher("t", delivery=delivery, **RING)
    child = processes.start(
        """
        sub = bus.subscriber("t")
        say("there")
        held = sub.view()
        message = held.__enter__()
        say(bytes(message.body))
        while True:
            hear()
            say(bytes(message.body))
        """
    )
    child.expect("there")
    pub.send(b"held")
    child.expect(b"held")
    fill(pub, b"other")
    child.say("again")
    child.expect(b"held")
    child.kill()
    for _ in range(100):
        pub.send(b"other", timeout=60)


def test_cursor_of_a_killed_process_keeps_its_place_and_is_free_at_once(bus, processes):
    pub = bus.publisher("t", delivery="reliable", **RING)
    child = processes.start(
        """
        sub = bus.subscriber("t", cursor="c", start="oldest")
        say("there")
        for n in range(3):
            sub.recv()
        sub.commit()
        sub.recv()
        say(sub.position)
        hear()
        """
    )
    child.expect("there")
    for number in range(10):
        pub.send(b"%d" % number)
    child.expect(4)
    with pytest.raises(slipring.Busy):
        bus.subscriber("t", cursor="c")
    child.kill()
    fill(pub, b"more")  # held for the next owner of the cursor
    with bus.subscriber("t", cursor="c") as sub:
        assert sub.recv(timeout=0).body == b"3"
        assert sub.lost == 0


def test_process_killed_while_it_recovers_another_leaves_the_work_to_the_next(bus, processes):
    """Each process that attaches has claims of dead processes to sweep, and is killed itself."""
    pub = bus.publisher("t", delivery="reliable", capacity=4096, slots=64)
    sub = bus.subscriber("t")
    sent = []
    for _ in range(8):
        child = lender(processes)
        sent.append(pub.send(b"m"))
        child.kill()
    assert [sub.recv(timeout=60).seq for _ in sent] == sent
    assert sub.lost == 0
    assert bus.stats("t")["abandoned"] == 8
    assert [entry["alive"] for entry in bus.stats("t")["publishers"]].count(False) <= 1


@pytest.mark.parametrize("claims", [1, 3, 40])
@pytest.mark.parametrize("end", ["killed", "aborted", "committed"])
def test_loss_is_exact_for_a_reader_that_joined_behind_open_claims(bus, processes, claims, end):
    """Claims made before the reader attached do not count for it, however they end."""
    bus.create("t", capacity=4096, slots=64)
    child = processes.start(
        """
        pub = bus.publisher("t")
        loans = [pub.loan(8) for _ in range(claims)]
        for loan in loans:
            loan.__enter__()
        say("claimed")
        hear()
        for loan in loans:
            loan.__exit__(*((None,) * 3 if end == "committed" else (ValueError, ValueError(), None)))
        say("ended")
        hear()
        """,
        claims=claims,
        end=end,
    )
    child.expect("claimed")
    sub = bus.subscriber("t", start="new")
    start = sub.position
    assert start == claims
    if end == "killed":
        child.kill()
    else:
        child.say("end")
        child.expect("ended")
    with bus.publisher("t") as pub:
        for _ in range(500):
            pub.send(b"m", timeout=60)
    received = len(sub.recv_many(1000))
    assert received + sub.lost == 500
    assert sub.position == start + 500
