# SPDX-License-Identifier: Apache-2.0
"""Promise 4: joining at the new, the last retained, the oldest or a given sequence; seeking likewise."""

import pytest

import slipring

pytestmark = pytest.mark.needs("history")

SMALL = {"capacity": 4096, "slots": 16}


def seqs(sub) -> list[int]:
    return [m.seq for m in sub.recv_many(1000)]


@pytest.fixture
def pub(bus):
    return bus.publisher("t", **SMALL)


def test_a_new_subscriber_gets_what_is_sent_from_now_on(bus, pub):
    pub.send_many([b"x"] * 5)
    sub = bus.subscriber("t")
    assert sub.recv(timeout=0) is None
    pub.send(b"y")
    assert seqs(sub) == [5]
    assert (sub.received, sub.lost) == (1, 0)


def test_new_is_the_default_start(bus, pub):
    pub.send(b"x")
    assert bus.subscriber("t").position == bus.subscriber("t", start="new").position == 1


@pytest.mark.parametrize("sent", [1, 2, 15, 16, 17, 100])
def test_a_late_joiner_can_have_the_last_value_first(bus, pub, sent):
    pub.send_many([b"%d" % number for number in range(sent)])
    sub = bus.subscriber("t", start="last")
    assert sub.recv(timeout=0).body == b"%d" % (sent - 1)
    assert sub.recv(timeout=0) is None
    pub.send(b"next")
    assert sub.recv(timeout=0).body == b"next"
    assert (sub.received, sub.lost) == (2, 0)


def test_last_on_an_empty_topic_is_the_first_message_to_come(bus, pub):
    sub = bus.subscriber("t", start="last")
    assert sub.recv(timeout=0) is None
    pub.send_many([b"a", b"b"])
    assert seqs(sub) == [0, 1]


def test_last_skips_an_aborted_message(bus, pub):
    pub.send(b"kept")
    with pytest.raises(KeyError), pub.loan(8):
        raise KeyError
    assert bus.subscriber("t", start="last").recv(timeout=0).body == b"kept"


@pytest.mark.parametrize("sent", [0, 1, 15])
def test_oldest_gets_everything_retained(bus, pub, sent):
    pub.send_many([b"x"] * sent)
    sub = bus.subscriber("t", start="oldest")
    assert seqs(sub) == list(range(sent))


def test_oldest_after_laps_begins_at_the_oldest_retained_without_loss(bus, pub):
    pub.send_many([b"x"] * 100)
    sub = bus.subscriber("t", start="oldest")
    got = seqs(sub)
    assert got == list(range(got[0], 100))
    assert got[0] == bus.stats("t")["oldest"]
    assert 1 <= len(got) <= 15
    assert sub.lost == 0


@pytest.mark.parametrize("start", range(11))
def test_a_given_sequence_is_the_first_message_received(bus, pub, start):
    pub.send_many([b"%d" % number for number in range(10)])
    sub = bus.subscriber("t", start=start)
    assert sub.position == start
    pub.send(b"10")
    assert sub.recv(timeout=0).body == b"%d" % start
    assert sub.lost == 0


def test_a_given_sequence_that_is_gone_counts_as_lost_from_there(bus, pub):
    pub.send_many([b"x"] * 100)
    sub = bus.subscriber("t", start=40)
    got = seqs(sub)
    assert got[-1] == 99
    assert sub.lost == got[0] - 40
    assert sub.received + sub.lost == 60


@pytest.mark.parametrize("start", ["newest", "", "NEW", -1, 1 << 64, b"new"])
def test_an_invalid_start_is_refused_by_name(bus, pub, start):
    with pytest.raises((slipring.BadArgument, TypeError), match="start"):
        bus.subscriber("t", start=start)


def test_a_sequence_not_yet_published_is_refused_by_name(bus, pub):
    pub.send_many([b"x"] * 3)
    with pytest.raises(slipring.BadArgument, match="start"):
        bus.subscriber("t", start=4)
    sub = bus.subscriber("t", start=3)
    with pytest.raises(slipring.BadArgument):
        sub.seek(4)
    pub.send(b"y")
    assert seqs(sub) == [3]


@pytest.mark.parametrize("start", [1.5, None, [1]])
def test_a_start_of_a_wrong_type_is_refused(bus, pub, start):
    with pytest.raises((TypeError, slipring.BadArgument), match="start"):
        bus.subscriber("t", start=start)


@pytest.mark.parametrize("start", ["new", "last", "oldest", 0])
def test_a_subscriber_that_was_there_before_the_topic_gets_everything(bus, start):
    sub = bus.subscriber("later", start=start)
    assert not sub.attached
    assert sub.recv(timeout=0) is None
    pub = bus.publisher("later", **SMALL)
    pub.send_many([b"a", b"b", b"c"])
    assert seqs(sub) == [0, 1, 2]
    assert sub.attached
    assert (sub.received, sub.lost) == (3, 0)


@pytest.mark.parametrize("start", ["new", "last", "oldest", 0])
def test_a_subscriber_that_was_there_before_the_topic_counts_what_it_missed(bus, start):
    sub = bus.subscriber("later", start=start)
    bus.publisher("later", **SMALL).send_many([b"x"] * 100)
    got = seqs(sub)
    assert got == list(range(got[0], 100))
    assert sub.lost == got[0]
    assert sub.received + sub.lost == 100


def test_a_subscriber_before_the_topic_is_woken_by_the_first_message(bus, background):
    sub = bus.subscriber("later")
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    bus.publisher("later", **SMALL).send(b"first")
    assert waiting.result().body == b"first"


def test_a_refused_setting_is_reported_although_the_topic_comes_later(bus):
    sub = bus.subscriber("later", lossy=False)
    bus.create("later", delivery="lossy", **SMALL)
    with pytest.raises(slipring.BadArgument, match="lossy"):
        sub.recv(timeout=0)


@pytest.mark.parametrize(
    ("where", "expected"), [("new", []), ("last", [9]), ("oldest", list(range(10))), (4, list(range(4, 10)))]
)
def test_seek_moves_the_position_as_asked(bus, pub, where, expected):
    sub = bus.subscriber("t")
    pub.send_many([b"x"] * 10)
    sub.recv_many(3)
    sub.seek(where)
    assert seqs(sub) == expected
    assert sub.lost == 0


def test_seek_back_delivers_the_same_messages_again(bus, pub):
    sub = bus.subscriber("t")
    pub.send_many([b"a", b"b", b"c"])
    first = sub.recv_many(9)
    for _ in range(3):
        sub.seek("oldest")
        assert sub.recv_many(9) == first


def test_the_account_balances_from_the_sought_position(bus, pub):
    sub = bus.subscriber("t")
    pub.send_many([b"x"] * 100)
    for where in (50, "oldest", 95, 0, "last", "new"):
        sub.seek(where)
        start, before = sub.position, sub.received + sub.lost + sub.filtered
        seqs(sub)
        assert sub.received + sub.lost + sub.filtered - before == sub.position - start
        assert sub.position == 100


@pytest.mark.parametrize("where", ["first", -1, 1.5, None])
def test_an_invalid_seek_is_refused_and_moves_nothing(bus, pub, where):
    sub = bus.subscriber("t")
    pub.send_many([b"x"] * 4)
    sub.recv(timeout=0)
    with pytest.raises((slipring.BadArgument, TypeError)):
        sub.seek(where)
    assert seqs(sub) == [1, 2, 3]


@pytest.mark.parametrize(("word", "usual"), [("earliest", "oldest"), ("latest", "new")])
def test_the_words_of_spark_mean_the_same(bus, word, usual):
    pub = bus.publisher("t", capacity=4096)
    for body in (b"a", b"b"):
        pub.send(body)
    subs = [bus.subscriber("t", start=start) for start in (word, usual)]
    pub.send(b"c")
    assert len({tuple(message.body for message in sub.recv_many(10)) for sub in subs}) == 1
    for sub, start in zip(subs, (word, usual), strict=True):
        sub.seek(start)
    assert len({tuple(message.body for message in sub.recv_many(10)) for sub in subs}) == 1
    with pytest.raises(slipring.BadArgument, match="earliest"):
        bus.subscriber("t", start="first")


@pytest.mark.needs("frames")
@pytest.mark.parametrize(("word", "found"), [("earliest", [0, 1]), ("latest", []), ("oldest", [0, 1])])
def test_frames_start_by_the_same_words(bus, word, found):
    numpy = pytest.importorskip("numpy")
    frames = bus.frames("cam", shape=(2,), buffers=4)
    with frames.publisher() as pub:
        for number in range(2):
            with pub.frame() as array:
                array[:] = numpy.full(2, number)
        with frames.subscriber(start=word) as sub:
            got = []
            for _ in found:
                with sub.recv(timeout=10) as frame:
                    got.append(int(frame.array[0]))
            with sub.recv(timeout=0) as frame:
                assert frame is None
    assert got == found
