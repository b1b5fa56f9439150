# SPDX-License-Identifier: Apache-2.0
"""Losses, laps and kills that a test causes: counts stay exact, and other handles are not affected."""

import pytest

import slipring
from slipring.testing import Killed, SteppedBus

SMALL = {"capacity": 4096, "slots": 16}


def bodies(sub) -> list[bytes]:
    return [message.body for message in sub.recv_many(1000)]


@pytest.fixture(params=[False, True], ids=["stepped", "automatic"])
def bus(request):
    with SteppedBus(automatic=request.param) as bus:
        yield bus


# Loss


def test_a_lost_message_is_counted_and_the_next_one_arrives(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    bus.lose("t", 2)
    pub.send_many([b"a", b"b", b"c"])
    bus.run_until_idle()
    assert bodies(sub) == [b"c"]
    assert (sub.received, sub.lost, sub.filtered) == (1, 2, 0)


def test_a_message_is_lost_to_one_subscriber_only(bus):
    pub, one, other = bus.publisher("t"), bus.subscriber("t"), bus.subscriber("t")
    bus.lose(one)
    pub.send_many([b"a", b"b"])
    bus.run_until_idle()
    assert (bodies(one), bodies(other)) == ([b"b"], [b"a", b"b"])
    assert (one.lost, other.lost) == (1, 0)


@pytest.mark.parametrize("options", [{"types": ["x"]}, {"conflate": True}, {"ignore_senders": ["p"]}])
def test_the_counts_are_exact_whatever_is_lost(bus, options):
    pub = bus.publisher("t", sender="p", **SMALL)
    sub = bus.subscriber("t", **options)
    for number in range(50):
        if number % 3 == 0:
            bus.lose(sub, 2)
        pub.send_many([b"%d" % number] * (number % 5), type="x" if number % 2 else "y")
        if number % 7 == 0:
            bus.run_until_idle()
            sub.recv_many(3)
    bus.run_until_idle()
    bodies(sub)
    assert sub.received + sub.lost + sub.filtered == sub.position == bus.stats("t")["published"]
    assert sub.lost > 0


def test_a_reliable_subscriber_loses_nothing_even_on_demand(bus):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    sub, tap = bus.subscriber("t"), bus.subscriber("t", lossy=True)
    for fault in (bus.lose, bus.lap):
        with pytest.raises(slipring.BadArgument, match="reliable"):
            fault(sub)
    bus.lose("t")
    pub.send(b"x")
    bus.run_until_idle()
    assert (bodies(sub), bodies(tap)) == ([b"x"], [])
    assert (sub.lost, tap.lost) == (0, 1)


@pytest.mark.parametrize("target", [None, 5, object()])
def test_only_a_topic_or_a_subscriber_can_lose_messages(bus, target):
    with pytest.raises(TypeError):
        bus.lose(target)


def test_a_topic_that_does_not_exist_cannot_lose(bus):
    with pytest.raises(slipring.TopicNotFound):
        bus.lose("nowhere")
    with pytest.raises(slipring.BadArgument):
        bus.lose(bus.subscriber("later"))


# Laps


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_a_lapped_subscriber_continues_with_the_newest_and_counts_its_loss(bus, keep):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    pub.send_many([b"%d" % number for number in range(10)])
    assert bus.lap(sub, keep=keep) == 10 - keep
    pub.send(b"next")
    bus.run_until_idle()
    assert bodies(sub) == [b"%d" % number for number in range(10 - keep, 10)] + [b"next"]
    assert (sub.lost, sub.received) == (10 - keep, keep + 1)


def test_lapping_a_topic_laps_all_its_lossy_subscribers(bus):
    pub, subs = bus.publisher("t"), [bus.subscriber("t") for _ in range(2)]
    pub.send_many([b"x"] * 4)
    assert bus.lap("t") == 8
    bus.run_until_idle()
    assert [(bodies(sub), sub.lost) for sub in subs] == [([], 4)] * 2


# Deaths


def test_a_publisher_killed_between_claim_and_commit_stalls_no_reader(bus):
    doomed, other, sub = bus.publisher("t"), bus.publisher("t"), bus.subscriber("t")
    doomed.send(b"before")
    bus.kill(doomed, at="claimed")
    with pytest.raises(Killed):
        doomed.send(b"never seen")
    other.send(b"after")
    bus.run_until_idle()
    assert bodies(sub) == [b"before", b"after"]
    assert (sub.received, sub.lost, bus.stats("t")["abandoned"]) == (2, 0, 1)


def test_an_open_loan_of_a_killed_publisher_is_abandoned(bus):
    doomed, other, sub = bus.publisher("t"), bus.publisher("t"), bus.subscriber("t")
    loan = doomed.loan(1)
    loan.__enter__()
    other.send(b"behind")
    bus.run_until_idle()
    assert bodies(sub) == []
    bus.kill(doomed)
    bus.run_until_idle()
    assert bodies(sub) == [b"behind"]


def test_a_message_committed_before_its_publisher_was_killed_arrives(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    bus.kill(pub, at="committed")
    with pytest.raises(Killed):
        pub.send(b"sent")
    bus.run_until_idle()
    assert bodies(sub) == [b"sent"]


def test_a_killed_reliable_subscriber_no_longer_holds_publishers(bus):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    pub.send_many([b"x"] * 15)
    with pytest.raises(slipring.Full):
        pub.send(b"y", timeout=0)
    bus.kill(sub)
    assert pub.send(b"y", timeout=0) == 15


def test_a_subscriber_killed_while_it_holds_a_message_frees_it(bus):
    pub, sub = bus.publisher("t", **SMALL), bus.subscriber("t")
    pub.send(b"held")
    bus.kill(sub, at="held")
    with pytest.raises(Killed), sub.view():
        pass
    pub.send_many([b"x"] * 100, timeout=0)


def test_messages_received_and_not_committed_are_delivered_again_after_a_kill(bus):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    worker = bus.subscriber("t", cursor="c")
    pub.send_many([b"1", b"2", b"3"])
    assert worker.recv().body == b"1"
    worker.commit()
    bus.kill(worker, at="received")
    with pytest.raises(Killed):
        worker.recv()
    again = bus.subscriber("t", cursor="c")
    bus.run_until_idle()
    assert bodies(again) == [b"2", b"3"]


def test_a_killed_handle_raises_what_no_error_handling_catches(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    bus.kill(pub, sub)
    for use in (lambda: pub.send(b"x"), lambda: sub.recv(timeout=0), lambda: slipring.wait([sub], timeout=0)):
        with pytest.raises(Killed) as caught:
            use()
        assert not isinstance(caught.value, Exception)


def test_entries_of_killed_handles_stay_until_the_next_attach(bus):
    pub, _sub, stays = bus.publisher("t"), bus.subscriber("t"), bus.publisher("t")
    bus.kill(pub, _sub)
    stats = bus.stats("t")
    assert [one["alive"] for one in stats["publishers"]] == [False, True]
    assert [one["alive"] for one in stats["readers"]] == [False]
    assert [one["problem"] for one in bus.doctor()] == ["2 table entries of dead processes"]
    bus.subscriber("t")
    assert len(bus.stats("t")["publishers"]) == 1
    assert bus.doctor() == []
    stays.send(b"x")


def test_a_killed_exclusive_publisher_can_be_replaced(bus):
    pub = bus.publisher("t", writers="one")
    bus.kill(pub)
    assert bus.publisher("t").send(b"x") == 0


def test_a_process_is_killed_with_all_its_handles(bus):
    robot = bus.process()
    pub, sub, member = robot.publisher("t"), robot.subscriber("t"), robot.join("chat", sender="r", **SMALL)
    mine = bus.subscriber("t")
    pub.send(b"x")
    bus.kill(robot)
    for use in (lambda: pub.send(b"y"), lambda: sub.recv(0), lambda: member.send(b"z")):
        with pytest.raises(Killed):
            use()
    bus.run_until_idle()
    assert bodies(mine) == [b"x"]


def test_a_killed_member_holds_no_publisher(bus):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    bus.kill(bob)
    for _ in range(100):
        ann.send(b"x", timeout=0)


def test_a_function_that_waits_on_a_killed_handle_ends(bus):
    sub = bus.subscriber("t")
    task = bus.spawn(sub.recv)
    bus.run_until_idle()
    bus.kill(sub)
    with pytest.raises(Killed):
        task.result()


@pytest.mark.parametrize("at", ["", "later", "received"])
def test_a_point_that_a_handle_never_reaches_is_refused_by_name(bus, at):
    with pytest.raises(slipring.BadArgument, match=r'at=.*"claimed" or "committed"'):
        bus.kill(bus.publisher("t"), at=at)
