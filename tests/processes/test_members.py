# SPDX-License-Identifier: Apache-2.0
"""Promise 16 and seed 1: members in processes of their own, all sending and receiving, one total order."""

import pytest

MEMBER = """
    import hashlib
    member = bus.join("chat", sender=sender, own=own, **settings)
    say("joined")
    hear()
    for number in range(count):
        member.send(b"%d" % number * 10, type=sender)
    expected = count * members if own else count * (members - 1)
    order = []
    while len(order) < expected:
        message = member.recv()
        assert message.type == message.sender
        order.append((message.seq, message.sender, message.body))
    for name in {sender for _, sender, _ in order}:
        mine = [body for _, sender, body in order if sender == name]
        assert mine == [b"%d" % number * 10 for number in range(count)]
    say(hashlib.sha256(repr(order).encode()).hexdigest(), order[0][0], order[-1][0], member.lost)
    say([seq for seq, _, _ in order] if not own else None)
    hear()
"""


def run(processes, members: int, count: int, own: bool, settings: dict):
    started = [
        processes.start(MEMBER, sender=f"m{number}", own=own, count=count, members=members, settings=settings)
        for number in range(members)
    ]
    for process in started:
        process.expect("joined")
    for process in started:
        process.say("go")
    return [(process.hear(), process.hear()) for process in started]


def test_every_member_sees_every_message_in_the_same_order(processes):
    settings = {"capacity": "64KiB", "slots": 256}
    results = run(processes, members=4, count=2_000, own=True, settings=settings)
    digests = {result for result, _ in results}
    assert len(digests) == 1
    (_, first, last, lost) = digests.pop()
    assert (first, last, lost) == (0, 7_999, 0)


@pytest.mark.parametrize("members", [2, 4])
def test_all_members_sending_on_a_ring_smaller_than_one_round_make_progress(processes, members):
    settings = {"capacity": 4096, "slots": 16}
    results = run(processes, members=members, count=500, own=False, settings=settings)
    assert [result[3] for result, _ in results] == [0] * members
    counts = dict.fromkeys(range(500 * members), 0)
    for _, seqs in results:
        assert seqs == sorted(seqs)
        for seq in seqs:
            counts[seq] += 1
    assert set(counts.values()) == {members - 1}


def test_members_that_come_and_go_leave_the_others_undisturbed(bus, processes):
    settings = {"capacity": 4096, "slots": 16}
    ann = bus.join("chat", sender="ann", **settings)
    for turn in range(5):
        guest = processes.start(
            """
            with bus.join("chat", sender="guest") as member:
                say("here")
                say(member.recv().body)
                member.send(b"bye %d" % turn)
            """,
            turn=turn,
        )
        guest.expect("here")
        ann.send(b"hello %d" % turn)
        guest.expect(b"hello %d" % turn)
        assert ann.recv().body == b"bye %d" % turn
        guest.join()
    stats = bus.stats("chat")
    assert (len(stats["publishers"]), len(stats["readers"])) == (1, 1)
    assert ann.lost == 0
