# SPDX-License-Identifier: Apache-2.0
"""Members: send and recv in one, on a topic that is reliable by default."""

import pytest

import slipring

pytestmark = pytest.mark.needs("members")

SMALL = {"capacity": 4096, "slots": 16}


def bodies(member) -> list[bytes]:
    return [m.body for m in member.recv_many(1000)]


def test_every_member_reads_every_message_of_the_others_in_one_order(bus):
    members = [bus.join("chat", sender=name, **SMALL) for name in ("ann", "bob", "cid")]
    for turn in range(3):
        for member in members:
            member.send(f"{member.sender}{turn}".encode(), type="talk")
    seen = [[(m.seq, m.sender, m.type, m.body) for m in member.recv_many(100)] for member in members]
    everything = sorted({entry for entries in seen for entry in entries})
    assert len(everything) == 9
    for member, entries in zip(members, seen, strict=True):
        assert entries == [entry for entry in everything if entry[1] != member.sender]


def test_a_member_makes_its_topic_reliable(bus):
    bus.join("chat", sender="ann", **SMALL)
    assert bus.stats("chat")["delivery"] == "reliable"


@pytest.mark.needs("lapping")
def test_a_member_joins_a_lossy_topic_as_it_is(bus):
    bus.create("chat", delivery="lossy", **SMALL)
    ann, bob = bus.join("chat", sender="ann"), bus.join("chat", sender="bob")
    for _ in range(100):
        ann.send(b"x")
    got = bodies(bob)
    assert bob.lost == 100 - len(got) > 0


def test_a_member_can_be_lossy_when_asked(bus):
    ann = bus.join("chat", sender="ann", delivery="lossy", **SMALL)
    assert bus.stats("chat")["delivery"] == "lossy"
    ann.send(b"x")


def test_a_member_has_the_settings_of_a_subscriber(bus):
    pub = bus.publisher("chat", sender="pub", delivery="reliable", **SMALL)
    pub.send(b"early", type="a")
    member = bus.join("chat", sender="ann", start="oldest", ignore_types=["b"], ignore_senders=["bob"])
    pub.send(b"skipped", type="b")
    pub.send(b"late", type="a")
    bus.join("chat", sender="bob").send(b"ignored")
    assert bodies(member) == [b"early", b"late"]
    assert (member.received, member.filtered, member.lost) == (2, 2, 0)


def test_members_with_the_same_sender_do_not_hide_each_other(bus):
    first, second = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="ann")
    first.send(b"from first")
    assert bodies(second) == [b"from first"]
    assert bodies(first) == []


def test_all_members_sending_into_a_full_ring_make_progress(bus, background):
    """Each sends three rings full before it receives anything: a blocked send takes messages in."""
    members = [bus.join("chat", sender=f"m{number}", **SMALL) for number in range(3)]
    count = 3 * 16

    def talk(member) -> list[bytes]:
        for number in range(count):
            member.send(b"%d" % number)
        got = []
        while len(got) < 2 * count:
            got.append(member.recv())
        return [(m.seq, m.sender) for m in got]

    results = [call.result() for call in [background(talk, member) for member in members]]
    order = sorted({entry for entries in results for entry in entries})
    assert len(order) == 3 * count
    for member, entries in zip(members, results, strict=True):
        assert entries == [entry for entry in order if entry[1] != member.sender]
        assert member.lost == 0


@pytest.mark.parametrize("timeout", [None, 0])
def test_a_member_alone_may_send_without_limit(bus, timeout):
    ann = bus.join("chat", sender="ann", **SMALL)
    for _ in range(1000):
        ann.send(b"x", timeout=timeout)
    assert ann.recv(timeout=0) is None
    assert ann.filtered + ann.lost == 1000
    assert ann.lost == 0


@pytest.mark.needs("reliable")
def test_a_member_gets_full_when_the_ring_is_full(bus):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    with pytest.raises(slipring.Full):
        for _ in range(1000):
            ann.send(b"x", timeout=0)
    got = bodies(bob)
    assert bob.lost == 0
    assert len(got) >= 15


def test_a_member_with_the_sender_left_out_is_refused(bus):
    with pytest.raises(TypeError, match="sender"):
        bus.join("chat")


def test_closing_a_member_ends_both_its_parts(bus):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
    bob.close()
    assert bob.closed
    stats = bus.stats("chat")
    assert (len(stats["publishers"]), len(stats["readers"])) == (1, 1)
    for use in (lambda: bob.send(b"x"), lambda: bob.recv(timeout=0), lambda: bob.recv_many(1)):
        with pytest.raises(slipring.Closed):
            use()
    ann.send(b"nobody hears")


def test_a_member_is_a_context_manager_and_iterable(bus):
    with bus.join("chat", sender="ann", **SMALL) as ann, bus.join("chat", sender="bob") as bob:
        ann.send(b"hi")
        assert next(iter(bob)).body == b"hi"
    assert ann.closed
    assert bob.closed
    assert bus.stats("chat")["publishers"] == []


def _by_waiting(member) -> list:
    slipring.wait([member])
    return member.recv_many(3)


async def _one(member):
    return await member.arecv()


def _by_iteration(member) -> list:
    return [next(iter(member))]


@pytest.mark.parametrize("how", ["recv", "recv with timeout", "recv_many", "iteration", "wait", "arecv"])
def test_a_member_that_sends_and_receives_in_two_threads_receives_all_in_order(bus, background, run, how):
    """Sends that find the ring full move messages aside, while the other thread waits for them."""
    ways = {
        "recv": lambda member: [member.recv()],
        "recv with timeout": lambda member: [member.recv(timeout=1000)],
        "recv_many": lambda member: member.recv_many(3, timeout=None),
        "iteration": _by_iteration,
        "wait": _by_waiting,
        "arecv": lambda member: [run(_one(member))],
    }
    members = [bus.join("chat", sender=name, **SMALL) for name in ("ann", "bob")]
    count = 300

    def talk(member) -> None:
        for number in range(count):
            member.send(b"%d" % number)

    def listen(member) -> list[tuple[int, bytes]]:
        got = []
        while len(got) < count:
            got += [(m.seq, m.body) for m in ways[how](member)]
        return got

    listening = [background(listen, member) for member in members]
    talking = [background(talk, member) for member in members]
    for call in talking:
        call.result()
    for call, member in zip(listening, members, strict=True):
        got = call.result()
        assert [body for _, body in got] == [b"%d" % number for number in range(count)]
        assert [seq for seq, _ in got] == sorted(seq for seq, _ in got)
        assert (member.received, member.lost, member.stats()["inbox"]) == (count, 0, 0)
