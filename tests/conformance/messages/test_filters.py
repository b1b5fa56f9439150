# SPDX-License-Identifier: Apache-2.0
"""Promise 6: filters by type and sender; own messages are hidden; filtered messages wake nobody."""

import threading

import pytest

import slipring

SMALL = {"capacity": "64KiB", "slots": 1024}
TRAFFIC = [("ann", "a"), ("ann", "b"), ("bob", "a"), ("bob", ""), ("", "b"), ("", ""), ("bob", "c")]


@pytest.fixture
def publish(bus):
    """Sends the traffic once: body b"sender/type" for each."""
    pubs = {
        sender: bus.publisher("t", sender=sender, **SMALL) for sender in {sender for sender, _ in TRAFFIC}
    }

    def send() -> None:
        for sender, kind in TRAFFIC:
            pubs[sender].send(f"{sender}/{kind}".encode(), type=kind)

    send.pubs = pubs
    return send


FILTERS = [
    ({}, lambda sender, kind: True),
    ({"types": ["a"]}, lambda sender, kind: kind == "a"),
    ({"types": ("a", "c")}, lambda sender, kind: kind in "ac" and kind),
    ({"types": {"", "b"}}, lambda sender, kind: kind in ("", "b")),
    ({"types": ["nobody sends this"]}, lambda sender, kind: False),
    ({"ignore_types": ["a", "b"]}, lambda sender, kind: kind not in ("a", "b")),
    ({"ignore_types": [""]}, lambda sender, kind: kind != ""),
    ({"ignore_senders": ["bob"]}, lambda sender, kind: sender != "bob"),
    ({"ignore_senders": ("", "ann")}, lambda sender, kind: sender == "bob"),
    ({"types": ["a"], "ignore_senders": ["ann"]}, lambda sender, kind: (sender, kind) == ("bob", "a")),
    ({"types": ["a", "b"], "ignore_types": ["b"]}, lambda sender, kind: kind == "a"),
]


@pytest.mark.parametrize(("filters", "passes"), FILTERS, ids=[str(filters) for filters, _ in FILTERS])
def test_a_filter_passes_exactly_its_types_and_senders(bus, publish, filters, passes):
    sub = bus.subscriber("t", **filters)
    for turn in range(1, 4):
        publish()
        expected = [f"{sender}/{kind}".encode() for sender, kind in TRAFFIC if passes(sender, kind)]
        assert [m.body for m in sub.recv_many(100)] == expected
        assert (sub.received, sub.lost) == (turn * len(expected), 0)
        assert sub.filtered == turn * (len(TRAFFIC) - len(expected))


def test_filters_apply_to_every_way_of_receiving(bus, publish):
    def by_view(sub):
        with sub.view(timeout=0) as message:
            return bytes(message.body)

    ways = [
        lambda sub: sub.recv(timeout=0).body,
        lambda sub: sub.recv_many(100)[0].body,
        lambda sub: sub.recv_batch(100).column("value")[0].as_py(),
        lambda sub: bytes(sub.recv_into(bytearray(64), timeout=0).body),
        lambda sub: next(iter(sub)).body,
        by_view,
    ]
    subs = [bus.subscriber("t", types=["c"]) for _ in ways]
    publish()
    for sub, way in zip(subs, ways, strict=True):
        assert way(sub) == b"bob/c"
        assert (sub.received, sub.filtered, sub.lost) == (1, len(TRAFFIC) - 1, 0)


def test_a_type_that_begins_like_a_filtered_one_is_another_type(bus, publish):
    sub = bus.subscriber("t", types=["imu"], ignore_senders=["an"])
    pub = publish.pubs["ann"]
    for kind in ("im", "imu", "imu.v1", "IMU", "imu\0"):
        pub.send(b"x", type=kind)
    assert [m.type for m in sub.recv_many(10)] == ["imu"]


def test_a_text_is_never_taken_for_a_list_of_one_letter_types(bus, publish):
    for name in ("types", "ignore_types", "ignore_senders"):
        with pytest.raises((TypeError, slipring.BadArgument), match=name):
            bus.subscriber("t", **{name: "abc"})


@pytest.mark.parametrize("name", ["types", "ignore_types", "ignore_senders"])
@pytest.mark.parametrize("value", [[1], [None], [b"a"], 5])
def test_a_filter_that_is_not_text_is_refused_by_name(bus, publish, name, value):
    with pytest.raises(TypeError, match=name):
        bus.subscriber("t", **{name: value})


def flood(pub, clock, stop: threading.Event, kind: str) -> None:
    while not stop.is_set():
        pub.send(b"x", type=kind)
        clock.sleep(1e-4)


@pytest.mark.parametrize("call", ["recv", "recv_many", "view", "wait"])
def test_filtered_messages_neither_wake_a_waiter_early_nor_extend_its_time_out(
    bus, publish, background, call
):
    sub = bus.subscriber("t", ignore_types=["noise"])
    stop = threading.Event()
    flooding = background(flood, publish.pubs["bob"], bus.clock, stop, "noise")

    def view(timeout):
        with sub.view(timeout=timeout) as message:
            return message

    waits = {
        "recv": lambda: sub.recv(timeout=0.3),
        "recv_many": lambda: sub.recv_many(10, timeout=0.3),
        "view": lambda: view(0.3),
        "wait": lambda: slipring.wait([sub], timeout=0.3),
    }
    start = bus.clock.monotonic()
    got = waits[call]()  # were the time-out extended by each message, this would never return
    elapsed = bus.clock.monotonic() - start
    stop.set()
    flooding.result()
    assert not got
    assert elapsed >= 0.299
    assert sub.received == 0


def test_the_wanted_message_is_found_behind_any_number_of_filtered_ones(bus, publish, background):
    sub = bus.subscriber("t", types=["wanted"])
    waiting = background(sub.recv)
    waiting.wait_until_asleep()
    for _ in range(500):
        publish.pubs["bob"].send(b"x", type="noise")
    publish.pubs["ann"].send(b"here", type="wanted")
    assert waiting.result().body == b"here"
    assert sub.received + sub.filtered + sub.lost == 501


def test_filtered_messages_do_not_make_a_subscriber_ready(bus, publish):
    deaf, open_ = bus.subscriber("t", types=["nothing"]), bus.subscriber("t")
    publish()
    assert slipring.wait([deaf, open_], timeout=0) == [open_]
    assert slipring.wait([deaf], timeout=0) == []


def test_a_member_does_not_see_its_own_messages_unless_it_asks(bus):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    loud = bus.join("chat", sender="loud", own=True)
    for member in (ann, bob, loud):
        member.send(member.sender.encode())
    assert [m.body for m in ann.recv_many(9)] == [b"bob", b"loud"]
    assert [m.body for m in bob.recv_many(9)] == [b"ann", b"loud"]
    assert [m.body for m in loud.recv_many(9)] == [b"ann", b"bob", b"loud"]
    assert (ann.received, ann.filtered, ann.lost) == (2, 1, 0)
    assert (loud.received, loud.filtered, loud.lost) == (3, 0, 0)
