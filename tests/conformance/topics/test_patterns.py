# SPDX-License-Identifier: Apache-2.0
"""Patterns: bus.subscriber("cam.*") takes several topics, those that appear later too, in one handle."""

import asyncio
import threading

import pytest

import slipring

SMALL = {"capacity": 4096, "slots": 16}


def taken(sub, n=1000) -> list[tuple[str, bytes]]:
    return [(message.topic, message.body) for message in sub.recv_many(n)]


@pytest.fixture
def pubs(bus):
    return {name: bus.publisher(name, **SMALL) for name in ("cam.left", "cam.right", "imu")}


def test_messages_of_all_matching_topics_arrive_with_their_topic(bus, pubs):
    sub = bus.subscriber("cam.*")
    for name, pub in pubs.items():
        pub.send(name.encode(), type="t")
    messages = [sub.recv(timeout=10) for _ in range(2)]
    assert sorted((m.topic, m.body, m.type, m.seq) for m in messages) == [
        ("cam.left", b"cam.left", "t", 0),
        ("cam.right", b"cam.right", "t", 0),
    ]
    assert sub.recv(timeout=0) is None
    assert (sub.topic, sub.topics) == ("cam.*", ["cam.left", "cam.right"])


@pytest.mark.parametrize(
    ("pattern", "found"), [("*", 3), ("cam.?eft", 1), ("[ci]*", 3), ("cam.[!l]*", 1), ("x*", 0)]
)
def test_a_pattern_is_that_of_a_shell(bus, pubs, pattern, found):
    sub = bus.subscriber(pattern)
    for pub in pubs.values():
        pub.send(b"x")
    assert len(taken(sub)) == found == len(sub.topics)
    assert sub.attached is bool(found)


def test_the_order_within_each_topic_is_kept(bus, pubs):
    sub = bus.subscriber("cam.*")
    for number in range(12):
        pubs["cam.left"].send(b"%d" % number)
        pubs["cam.right"].send(b"%d" % number)
    messages = taken(sub, 5) + [(m.topic, m.body) for m in (sub.recv(10), sub.recv(10))] + taken(sub)
    for topic in ("cam.left", "cam.right"):
        assert [body for name, body in messages if name == topic] == [b"%d" % number for number in range(12)]


def test_a_topic_that_appears_later_is_read_from_its_first_message(bus, pubs):
    sub = bus.subscriber("cam.*", start="new")
    late = bus.publisher("cam.late", **SMALL)
    late.send(b"first")
    late.send(b"second")
    assert [sub.recv(timeout=10).body for _ in range(2)] == [b"first", b"second"]
    assert "cam.late" in sub.topics


def test_a_pattern_may_come_before_all_its_topics(bus, background):
    sub = bus.subscriber("cam.*")
    assert not sub.attached
    assert sub.recv(timeout=0) is None
    waiting = background(sub.recv, 60)
    waiting.wait_until_asleep()
    bus.publisher("cam.first", **SMALL).send(b"x")
    assert waiting.result().topic == "cam.first"


def test_a_waiting_receiver_gets_what_comes_on_any_topic(bus, pubs, background):
    sub = bus.subscriber("cam.*")
    for name in ("cam.right", "cam.left"):
        waiting = background(sub.recv, 60)
        waiting.wait_until_asleep()
        pubs[name].send(b"x")
        assert waiting.result().topic == name


@pytest.mark.needs("history")
@pytest.mark.parametrize(
    ("start", "got"), [("oldest", 6), ("earliest", 6), ("last", 2), ("new", 0), ("latest", 0)]
)
def test_a_pattern_starts_in_each_topic_at_the_given_start(bus, pubs, start, got):
    for _ in range(3):
        pubs["cam.left"].send(b"x")
        pubs["cam.right"].send(b"x")
    sub = bus.subscriber("cam.*", start=start)
    assert len(taken(sub)) == got
    sub.seek(start)
    assert len(taken(sub)) == got


def test_arguments_without_a_meaning_for_several_topics_are_refused_by_name(bus, pubs):
    sub = bus.subscriber("cam.*")
    for call, argument in (
        (lambda: bus.subscriber("cam.*", start=5), "start"),
        (lambda: sub.seek(5), "start"),
        (lambda: sub.commit(5), "seq"),
        (lambda: sub.position, "position"),
        (lambda: bus.subscriber("cam.*", start="middle"), "start"),
        (lambda: bus.subscriber("cam.*", expires=5), "expires"),
    ):
        with pytest.raises(slipring.BadArgument) as refused:
            call()
        assert refused.value.argument == argument
    with pytest.raises(TypeError):
        bus.subscriber("cam.*", types="t")
    for call in (lambda: bus.publisher("cam.*"), lambda: bus.create("cam.*")):
        with pytest.raises(slipring.BadArgument):
            call()


def test_filters_are_those_of_a_subscriber(bus, pubs):
    sub = bus.subscriber("cam.*", types=["keep"])
    for name in ("cam.left", "cam.right"):
        pubs[name].send(b"a", type="keep")
        pubs[name].send(b"b", type="drop")
    assert sorted(taken(sub)) == [("cam.left", b"a"), ("cam.right", b"a")]
    assert (sub.received, sub.filtered, sub.lost) == (2, 2, 0)


@pytest.mark.needs("lapping")
def test_losses_are_the_sum_of_all_topics(bus, pubs):
    sub = bus.subscriber("cam.*")
    for _ in range(100):
        pubs["cam.left"].send(b"x")
        pubs["cam.right"].send(b"x")
    assert sub.lag == 200
    got = len(taken(sub))
    assert got + sub.lost == 200
    stats = sub.stats()
    assert stats["lost"] == sum(topic["lost"] for topic in stats["topics"].values()) == sub.lost
    assert (stats["lag"], sorted(stats["topics"])) == (0, ["cam.left", "cam.right"])


@pytest.mark.needs("reliable")
def test_a_pattern_holds_reliable_topics_unless_it_is_lossy(bus):
    pub = bus.publisher("cam.left", delivery="reliable", **SMALL)
    tap, sub = bus.subscriber("cam.*", lossy=True), bus.subscriber("cam.*")
    for number in range(15):
        pub.send(b"%d" % number, timeout=0)
    with pytest.raises(slipring.Full):
        pub.send(b"one too many", timeout=0)
    assert len(taken(sub)) == 15
    pub.send(b"now", timeout=10)
    assert sub.stats()["reliable"]
    assert not tap.stats()["reliable"]


@pytest.mark.needs("cursors")
def test_a_cursor_keeps_the_place_in_each_topic_under_one_name(bus):
    pubs = [bus.publisher(name, delivery="reliable", **SMALL) for name in ("cam.left", "cam.right")]
    sub = bus.subscriber("cam.*", cursor="saver")
    for pub in pubs:
        for body in (b"a", b"b"):
            pub.send(body)
    assert len(taken(sub)) == 4
    sub.commit()
    for pub in pubs:
        pub.send(b"c")
    assert len(taken(sub)) == 2  # not committed
    sub.close()
    again = bus.subscriber("cam.*", cursor="saver")
    assert sorted(taken(again)) == [("cam.left", b"c"), ("cam.right", b"c")]
    assert [bus.cursors(name)[0]["name"] for name in ("cam.left", "cam.right")] == ["saver", "saver"]


def test_conflate_gives_the_newest_of_each_topic(bus, pubs):
    sub = bus.subscriber("cam.*", conflate=True)
    for body in (b"1", b"2", b"3"):
        pubs["cam.left"].send(body)
        pubs["cam.right"].send(body)
    assert sorted((m.topic, m.body) for m in (sub.recv(10), sub.recv(10))) == [
        ("cam.left", b"3"),
        ("cam.right", b"3"),
    ]


def test_a_busy_topic_does_not_starve_the_others(bus, pubs):
    sub = bus.subscriber("*")
    pubs["imu"].send(b"quiet")
    topics = []
    while "imu" not in topics:
        assert len(topics) < 1000
        pubs["cam.left"].send(b"loud")
        pubs["cam.left"].send(b"loud")
        topics.append(sub.recv(timeout=10).topic)


def test_iteration_ends_when_the_subscriber_is_closed(bus, pubs):
    sub = bus.subscriber("cam.*")
    pubs["cam.left"].send(b"1")
    pubs["cam.right"].send(b"2")
    seen = []
    for message in sub:
        seen.append(message.topic)
        if len(seen) == 2:
            sub.close()
    assert sorted(seen) == ["cam.left", "cam.right"]
    assert sub.closed
    with pytest.raises(slipring.Closed):
        sub.recv(timeout=0)
    assert sub.received == 2


def test_closing_ends_the_wait_of_another_thread(bus, pubs, background):
    for pattern in ("cam.*", "nothing.*"):
        sub = bus.subscriber(pattern)
        waiting = background(sub.recv, 60)
        waiting.wait_until_asleep()
        sub.close()
        with pytest.raises(slipring.Closed):
            waiting.result()


def test_closing_the_bus_closes_it(backend, bus, pubs):
    with backend.open() as other:
        sub = other.subscriber("cam.*")
    assert sub.closed
    with pytest.raises(slipring.Closed):
        sub.recv(timeout=0)


def test_a_block_closes_it(bus, pubs):
    with bus.subscriber("cam.*") as sub:
        assert sub.attached
    assert sub.closed


@pytest.fixture
def waiters_end(bus):
    """A waiter thread that is being woken still holds the subscribers that were closed meanwhile."""
    yield
    for thread in threading.enumerate():
        if thread.name == "slipring-waiter":
            thread.join()


@pytest.mark.needs("awaited patterns")
@pytest.mark.usefixtures("waiters_end")
def test_arecv_and_async_for_take_several_topics(bus, pubs, run):
    async def main():
        seen = []
        async with bus.subscriber("cam.*") as sub:
            assert await sub.arecv(0.01) is None
            pubs["cam.left"].send(b"1")
            seen.append((await sub.arecv(10)).topic)
            waiting = asyncio.ensure_future(sub.arecv(60))
            await asyncio.sleep(0.05)
            pubs["cam.right"].send(b"2")
            seen.append((await waiting).topic)
            waiting = asyncio.ensure_future(sub.arecv(60))
            await asyncio.sleep(0.05)
            late = bus.publisher("cam.late", **SMALL)
            late.send(b"3")
            seen.append((await waiting).topic)
            late.send(b"4")
            async for message in sub:
                seen.append(message.topic)
                sub.close()
        return seen

    assert run(main()) == ["cam.left", "cam.right", "cam.late", "cam.late"]


@pytest.mark.needs("awaited patterns")
@pytest.mark.usefixtures("waiters_end")
def test_a_cancelled_arecv_loses_nothing(bus, pubs, run):
    async def main():
        sub = bus.subscriber("cam.*")
        waiting = asyncio.ensure_future(sub.arecv(60))
        await asyncio.sleep(0.02)
        pubs["cam.left"].send(b"1")
        waiting.cancel()
        try:
            found = [(await waiting).body]
        except asyncio.CancelledError:
            found = []
        pubs["cam.left"].send(b"2")
        while len(found) < 2:
            found.append((await sub.arecv(10)).body)
        return found

    assert run(main()) == [b"1", b"2"]


def test_recv_batch_joins_the_topics(bus, pubs):
    pytest.importorskip("pyarrow")
    sub = bus.subscriber("cam.*")
    assert sub.recv_batch().num_rows == 0
    names = sub.recv_batch().schema.names
    for name in ("cam.left", "cam.right"):
        pubs[name].send(name.encode())
    batch = sub.recv_batch(timeout=10)
    rows = batch.to_pylist() + sub.recv_batch().to_pylist()
    assert sorted((row["topic"], row["offset"], row["value"]) for row in rows) == [
        ("cam.left", 0, b"cam.left"),
        ("cam.right", 0, b"cam.right"),
    ]
    assert batch.schema.names == names == ["topic", "offset", "timestamp", "sender", "type", "value"]


def test_views_and_buffers_work_as_on_one_topic(bus, pubs):
    sub = bus.subscriber("cam.*")
    with sub.view(timeout=0) as message:
        assert message is None
    pubs["cam.left"].send(b"viewed")
    with sub.view(timeout=10) as message:
        assert (message.topic, bytes(message.body)) == ("cam.left", b"viewed")
    pubs["cam.right"].send(b"copied")
    buffer = bytearray(16)
    with pytest.raises(slipring.BadArgument):
        sub.recv_into(bytearray(1), timeout=10)
    message = sub.recv_into(buffer, timeout=10)
    assert (message.topic, bytes(message.body)) == ("cam.right", b"copied")


@pytest.mark.needs("tables")
def test_a_removed_topic_leaves_and_the_others_continue(bus, pubs):
    sub = bus.subscriber("cam.*")
    pubs["cam.left"].send(b"1")
    assert taken(sub) == [("cam.left", b"1")]
    pubs["cam.left"].close()
    bus.remove("cam.left")
    pubs["cam.right"].send(b"2")
    assert sub.recv(timeout=10).body == b"2"
    while "cam.left" in sub.topics:
        assert sub.recv(timeout=0.01) is None
    assert sub.received == 2
    bus.publisher("cam.left", **SMALL).send(b"of another topic")
    assert sub.recv(timeout=10).body == b"of another topic"
    assert sub.topics == ["cam.left", "cam.right"]


def test_wait_refuses_a_pattern_by_name(bus, pubs):
    sub = bus.subscriber("cam.*")
    for given in (sub, [sub]):
        with pytest.raises(TypeError, match="PatternSubscriber"):
            slipring.wait(given, timeout=0)


def test_a_pattern_that_asyncio_cannot_await_is_refused_by_name(backend, bus, pubs, run):
    async def main():
        sub = bus.subscriber("cam.*")
        pubs["cam.left"].send(b"x")
        return await sub.arecv(10)

    if "awaited patterns" in backend.lacks:
        with pytest.raises(slipring.BadArgument, match="use recv in a thread"):
            run(main())
    else:
        assert run(main()).body == b"x"


@pytest.mark.needs("calls")
def test_the_topics_of_calls_are_left_to_servers_and_clients(bus, pubs):
    sub = bus.subscriber("*")
    with bus.server("calc", codec="raw") as server, bus.client("calc", timeout=20, codec="raw") as client:
        server.method(lambda body: body, name="echo")
        server.start()
        assert client.call("echo", b"x") == b"x"
        assert {name.split(".")[0] for name in bus.topics()} == {"calc", "cam", "imu"}
        assert sub.topics == sorted(pubs)
        for topic in bus.topics():
            readers = [entry for entry in bus.stats(topic)["readers"] if entry["alive"]]
            assert len(readers) <= 1, topic  # the server's own, the client's own, ours
    assert sub.recv(timeout=0) is None


def test_a_topic_with_a_name_like_those_of_calls_is_included(bus):
    bus.publisher("phone.calls", **SMALL).send(b"x")
    assert bus.subscriber("phone.*", start="oldest").recv(timeout=10).body == b"x"
