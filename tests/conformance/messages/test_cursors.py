# SPDX-License-Identifier: Apache-2.0
"""Cursors: named, durable places that outlive their subscriber and hold messages on reliable topics."""

import pytest

import slipring
from support.rings import fill

pytestmark = pytest.mark.needs("cursors", "reliable")

SMALL = {"capacity": 4096, "slots": 16}


@pytest.fixture
def pub(bus):
    return bus.publisher("r", delivery="reliable", **SMALL)


def seqs(sub) -> list[int]:
    return [m.seq for m in sub.recv_many(1000)]


def test_a_cursor_continues_after_what_was_committed(bus, pub):
    with bus.subscriber("r", cursor="c") as sub:
        pub.send_many([b"x"] * 10)
        assert seqs(sub) == list(range(10))
        sub.commit()
    pub.send_many([b"x"] * 3)
    with bus.subscriber("r", cursor="c") as sub:
        assert sub.position == 10
        assert seqs(sub) == [10, 11, 12]
        assert sub.lost == 0


def test_messages_that_were_not_committed_are_delivered_again(bus, pub):
    with bus.subscriber("r", cursor="c") as sub:
        pub.send_many([b"x"] * 10)
        sub.recv_many(4)
        sub.commit()
        assert len(sub.recv_many(3)) == 3
    for _ in range(3):
        with bus.subscriber("r", cursor="c") as sub:
            assert seqs(sub) == list(range(4, 10))


@pytest.mark.parametrize("start", ["new", "last", "oldest", 2])
def test_start_applies_only_to_a_new_cursor(bus, pub, start):
    pub.send_many([b"x"] * 5)
    with bus.subscriber("r", cursor="c", start=start) as sub:
        assert sub.position == {"new": 5, "last": 4, "oldest": 0, 2: 2}[start]
        assert seqs(sub) == list(range(sub.position - sub.received, 5))
        sub.commit()
    with bus.subscriber("r", cursor="c", start="oldest") as sub:
        assert sub.position == 5


def test_a_cursor_never_committed_stays_where_it_began(bus, pub):
    with bus.subscriber("r", cursor="c"):
        pass
    pub.send_many([b"x"] * 5)
    for _ in range(2):
        with bus.subscriber("r", cursor="c") as sub:
            assert seqs(sub) == list(range(5))


def test_a_cursor_of_a_reliable_topic_holds_messages_while_nobody_is_attached(bus, pub):
    with bus.subscriber("r", cursor="c") as sub:
        pub.send_many([b"x"] * 4)
        sub.recv_many(2)
        sub.commit()
    assert fill(pub) == 15 - 2
    with bus.subscriber("r", cursor="c") as sub:
        assert seqs(sub) == list(range(2, 17))
        assert fill(pub) == 0, "received is not committed"
        sub.commit()
        assert fill(pub) == 15


def test_the_commit_of_a_cursor_releases_a_blocked_sender(bus, pub, background):
    sub = bus.subscriber("r", cursor="c")
    fill(pub)
    waiting = background(pub.send, b"last")
    sub.recv_many(100)
    waiting.wait_until_asleep()
    sub.commit()
    assert waiting.result() == 15


def test_dropping_a_cursor_frees_what_it_held(bus, pub, background):
    bus.subscriber("r", cursor="c").close()
    fill(pub)
    waiting = background(pub.send, b"last")
    waiting.wait_until_asleep()
    bus.drop_cursor("r", "c")
    assert waiting.result() == 15
    assert list(bus.cursors("r")) == []


def test_a_dropped_cursor_begins_again(bus, pub):
    bus.subscriber("r", cursor="c").close()
    pub.send_many([b"x"] * 5)
    bus.drop_cursor("r", "c")
    with bus.subscriber("r", cursor="c") as sub:
        assert sub.position == 5


def test_a_cursor_that_expires_stops_holding_a_waiting_sender(bus, pub):
    bus.subscriber("r", cursor="c", expires=0.1).close()
    fill(pub)
    assert pub.send(b"last", timeout=None) == 15


def test_a_cursor_does_not_expire_while_it_is_attached(bus, pub):
    sub = bus.subscriber("r", cursor="c", expires=0.05)
    fill(pub)
    with pytest.raises(slipring.Full):
        pub.send(b"x", timeout=0.3)
    assert seqs(sub) == list(range(15))
    assert sub.lost == 0


def test_a_second_live_subscriber_on_a_cursor_is_refused(bus, pub):
    with bus.subscriber("r", cursor="c") as first:
        with pytest.raises(slipring.Busy, match="c"):
            bus.subscriber("r", cursor="c")
        with bus.subscriber("r", cursor="d"):
            pub.send(b"x")
        assert seqs(first) == [0]
    bus.subscriber("r", cursor="c").close()


def test_a_cursor_of_a_lossy_topic_only_remembers_its_place(bus):
    pub = bus.publisher("t", **SMALL)
    with bus.subscriber("t", cursor="c") as sub:
        pub.send_many([b"x"] * 5)
        sub.recv_many(3)
        sub.commit()
    with bus.subscriber("t", cursor="c") as sub:
        assert seqs(sub) == [3, 4]
    pub.send_many([b"x"] * 1000, timeout=0)
    with bus.subscriber("t", cursor="c") as sub:
        got = seqs(sub)
        assert got[-1] == 1004
        assert sub.lost == got[0] - 3
        assert sub.received + sub.lost == 1002


def test_the_cursors_of_a_topic_can_be_listed(bus, pub):
    assert list(bus.cursors("r")) == []
    pub.send_many([b"x"] * 5)
    with bus.subscriber("r", cursor="here", start="oldest", expires=60) as sub:
        bus.subscriber("r", cursor="away").close()
        sub.recv_many(2)
        sub.commit()
        cursors = {cursor["name"]: cursor for cursor in bus.cursors("r")}
        assert set(cursors) == {"here", "away"}
        here, away = cursors["here"], cursors["away"]
        assert (here["position"], here["lag"], here["attached"], here["expires_s"]) == (2, 3, True, 60)
        assert (away["position"], away["lag"], away["attached"], away["expires_s"]) == (5, 0, False, None)
        assert 0 <= here["age_s"] < 60
        assert {cursor["name"] for cursor in bus.stats("r")["cursors"]} == {"here", "away"}


def test_only_a_cursor_can_be_committed(bus, pub):
    with bus.subscriber("r") as sub, pytest.raises(slipring.BadArgument, match="cursor"):
        sub.commit()


def test_dropping_a_missing_cursor_is_an_error_with_its_name(bus, pub):
    with pytest.raises(slipring.SlipringError, match="nobody"):
        bus.drop_cursor("r", "nobody")
    with pytest.raises(slipring.TopicNotFound, match="missing"):
        bus.drop_cursor("missing", "c")
    with pytest.raises(slipring.TopicNotFound, match="missing"):
        bus.cursors("missing")


def test_one_cursor_over_the_limit_is_refused_and_disturbs_no_other(bus):
    pub = bus.publisher("few", delivery="reliable", max_cursors=2, **SMALL)
    subs = [bus.subscriber("few", cursor=name) for name in ("a", "b")]
    with pytest.raises(slipring.SlipringError, match="max_cursors"):
        bus.subscriber("few", cursor="c")
    pub.send(b"x")
    assert [seqs(sub) for sub in subs] == [[0], [0]]
    subs[0].close()
    bus.drop_cursor("few", "a")
    bus.subscriber("few", cursor="c").close()


@pytest.mark.parametrize("name", ["", "x" * 256, 5, b"c"], ids=repr)
def test_a_bad_cursor_name_is_refused_by_name(bus, pub, name):
    with pytest.raises((slipring.BadArgument, TypeError), match="cursor"):
        bus.subscriber("r", cursor=name)


@pytest.mark.parametrize("expires", [-1, float("nan"), "60"], ids=repr)
def test_a_bad_expiry_is_refused_by_name(bus, pub, expires):
    with pytest.raises((slipring.BadArgument, TypeError), match="expires"):
        bus.subscriber("r", cursor="c", expires=expires)
    assert list(bus.cursors("r")) == []


def test_a_cursor_survives_every_handle_of_the_topic(backend):
    for turn in range(5):
        with backend.open("b") as bus:
            sub = bus.subscriber("r", cursor="c")
            bus.publisher("r", delivery="reliable", **SMALL).send_many([b"x"] * 3)
            assert sub.recv(timeout=0).seq == turn
            sub.commit()
            assert len(sub.recv_many(100)) == 2 * (turn + 1)
            assert sub.lost == 0
