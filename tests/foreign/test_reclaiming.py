# SPDX-License-Identifier: Apache-2.0
"""A foreign publisher reclaims memory in a full ring, respects holds and records abandoned sequences."""

import pytest

import slipring
from support.waiting import eventually

FOREIGN = ["c", "java"]
SMALL = {"capacity": 8192, "slots": 32}
FULL_AT = 31  # one slot stays unused


class Aborted(Exception):
    pass


def start(peers, language: str, count: int):
    peer = peers.publish(language, "s", count)
    peer.expect("ready")
    peer.say("go")
    return peer


def stalled_at(bus, tail: int) -> None:
    eventually(lambda: bus.stats("t")["tail"] == tail, f"the ring being full at {tail}")


@pytest.mark.parametrize("writers", ["many", "one"])
@pytest.mark.parametrize("language", FOREIGN)
def test_a_held_message_does_not_change_while_a_foreign_publisher_laps(bus, peers, language, writers):
    bus.create("t", **SMALL, writers=writers)
    with bus.subscriber("t") as sub:
        with bus.publisher("t") as pub:
            pub.send(b"held " * 20)
        with sub.view(timeout=60) as msg:
            peer = start(peers, language, 500)
            stalled_at(bus, FULL_AT)
            assert bytes(msg.body) == b"held " * 20
        peer.hear_sent(500)
        peer.join()
        assert len(sub.recv_many(1000)) + sub.lost == 500


@pytest.mark.parametrize("writers", ["many", "one"])
@pytest.mark.parametrize("language", FOREIGN)
def test_abandoned_sequences_that_a_foreign_publisher_passes_are_not_counted_as_lost(
    bus, peers, language, writers
):
    bus.create("t", **SMALL, writers=writers)
    with bus.subscriber("t") as sub:
        for _ in range(5):
            with bus.publisher("t") as pub:
                for _ in range(3):
                    with pytest.raises(Aborted), pub.loan(8):
                        raise Aborted
                pub.send(b"x")
                loan = pub.loan(8)
                loan.__enter__()
                joined = bus.subscriber(
                    "t"
                )  # behind an open claim: its count begins at the abandoned sequences recorded so far
                loan.__exit__(Aborted, Aborted(), None)
                with pytest.raises(Aborted), pub.loan(8):
                    raise Aborted
            start(peers, language, 100).join()
            assert len(joined.recv_many(1000)) + joined.lost == 100
            joined.close()
        received = len(sub.recv_many(1000))
        assert received + sub.lost == bus.stats("t")["published"] == 5 * 101
        assert bus.stats("t")["abandoned"] == 25


@pytest.mark.parametrize("language", FOREIGN)
def test_a_cursor_holds_a_foreign_publisher_back_until_it_is_dropped(bus, peers, language):
    bus.create("t", **SMALL, delivery="reliable")
    bus.subscriber("t", cursor="place").close()
    peer = start(peers, language, 100)
    stalled_at(bus, FULL_AT)
    with bus.subscriber("t", cursor="place") as sub:
        assert len(sub.recv_many(20)) == 20
        sub.commit()
    stalled_at(bus, FULL_AT + 20)
    bus.drop_cursor("t", "place")
    peer.hear_sent(100)
    peer.join()


@pytest.mark.parametrize("language", FOREIGN)
def test_an_expired_cursor_does_not_hold_a_foreign_publisher_back(bus, peers, language):
    bus.create("t", **SMALL, delivery="reliable")
    bus.subscriber("t", cursor="place", expires=0.05).close()
    start(peers, language, 100).join()
    assert bus.cursors("t") == []


@pytest.mark.parametrize("language", FOREIGN)
def test_a_foreign_publisher_never_overwrites_an_open_loan(bus, peers, language):
    bus.create("t", **SMALL)
    with bus.publisher("t") as pub, bus.subscriber("t") as sub:
        with pub.loan(16) as view:
            view[:] = b"0123456789abcdef"
            peer = start(peers, language, 100)
            stalled_at(bus, FULL_AT)
            assert bytes(view) == b"0123456789abcdef"
        assert sub.recv(timeout=60).body == b"0123456789abcdef"
        peer.hear_sent(100)
        peer.join()


@pytest.mark.parametrize("language", FOREIGN)
def test_a_foreign_program_reports_a_full_writer_table_and_takes_the_entry_of_a_dead_writer(
    bus, peers, language
):
    bus.create("t", **SMALL, max_writers=2)
    first, second = (peers.publish("c", name, 1) for name in ("first", "second"))
    first.expect("ready")
    second.expect("ready")
    with pytest.raises(slipring.TooManyWriters):
        bus.publisher("t")
    peers.publish(language, "third", 1).join(4)
    second.kill()
    start(peers, language, 10).join()
    assert bus.stats("t")["published"] == 10
