# SPDX-License-Identifier: Apache-2.0
"""Python processes and foreign programs detect each other's liveness and death."""

import contextlib
import re
import signal
from pathlib import Path

import pytest

import slipring
from foreign.peers import BUSY, GONE
from support.waiting import eventually

FOREIGN = ["c", "java"]
STEPS = sorted(
    {
        name
        for source in Path(__file__).parent.glob("c/*.c")
        for name in re.findall(r'\bstep\("([\w.]+)"\)', source.read_text())
    }
)
KILLED = -signal.SIGKILL
SMALL = {"capacity": 8192, "slots": 32}


@pytest.mark.parametrize("language", FOREIGN)
def test_the_only_publisher_keeps_its_place_while_it_lives_running_or_stopped(bus, peers, language):
    bus.create("t", **SMALL, writers="one")
    peer = peers.publish(language, "s", 1)
    peer.expect("ready")
    with pytest.raises(slipring.Busy):
        bus.publisher("t")
    [entry] = bus.stats("t")["publishers"]
    assert (entry["alive"], entry["pid"], entry["sender"]) == (True, peer.pid, "s")
    peer.stop()
    with pytest.raises(slipring.Busy):
        bus.publisher("t")
    assert bus.doctor() == []
    peer.kill()
    assert bus.stats("t")["publishers"][0]["alive"] is False
    bus.publisher("t").close()


@pytest.mark.parametrize("language", FOREIGN)
def test_a_foreign_program_finds_the_exclusive_place_taken_and_then_free(bus, peers, language):
    bus.create("t", **SMALL, writers="one")
    owner = peers.publish("python", "owner", 1)
    owner.expect("ready")
    peers.publish(language, "second", 1).join(BUSY)
    owner.kill()
    peer = peers.publish(language, "successor", 100)
    peer.expect("ready")
    peer.say("go")
    peer.join()
    assert bus.stats("t")["published"] == 100


@pytest.mark.parametrize("language", FOREIGN)
def test_a_reliable_foreign_reader_holds_the_publisher_back_until_it_is_killed(bus, peers, language):
    bus.create("t", **SMALL, delivery="reliable")
    peer = peers.subscribe(language, "reliable", how="paused")
    peer.expect(("ready", 0))
    with bus.publisher("t") as pub:
        for _ in range(31):
            pub.send(b"x", timeout=10)
        with pytest.raises(slipring.Full):
            pub.send(b"x", timeout=0.05)
        peer.stop()
        with pytest.raises(slipring.Full):
            pub.send(b"x", timeout=0.05)
        peer.kill()
        for _ in range(100):
            pub.send(b"x", timeout=10)


@pytest.mark.parametrize("language", FOREIGN)
def test_a_foreign_publisher_waits_for_a_reliable_reader_and_goes_on_when_it_is_killed(bus, peers, language):
    bus.create("t", **SMALL, delivery="reliable")
    reader = peers.subscribe("c", "reliable", how="paused")
    reader.expect(("ready", 0))
    writer = peers.publish(language, "s", 200)
    writer.expect("ready")
    writer.say("go")
    eventually(lambda: bus.stats("t")["tail"] == 31, "the ring being full")
    reader.kill()
    writer.hear_sent(200)
    writer.join()


@pytest.mark.parametrize("language", FOREIGN)
def test_the_claim_of_a_killed_process_is_passed_over_by_foreign_readers_and_writers(
    bus, peers, processes, language
):
    bus.create("t", **SMALL, delivery="reliable")
    reader = peers.subscribe(language, "reliable")
    reader.expect(("ready", 0))
    holder = processes.start("""
        pub = bus.publisher("t")
        pub.send(b"before")
        loan = pub.loan(100)
        loan.__enter__()
        say("claimed")
        hear()
    """)
    holder.expect("claimed")
    writer = peers.publish(language, "s", 300)
    writer.expect("ready")
    writer.say("go")
    eventually(lambda: bus.stats("t")["tail"] > 20, "messages behind the claim")
    holder.kill()
    writer.hear_sent(300)
    with bus.publisher("t") as pub:
        pub.send(b"", type="end", timeout=60)
    assert reader.hear()[:4] == ("end", 302, 0, 303)
    assert bus.stats("t")["abandoned"] == 1


@pytest.mark.parametrize("place", ["claim.word", "claim.end", "claim.tail"])
@pytest.mark.parametrize("language", FOREIGN)
def test_a_foreign_publisher_finishes_the_claim_of_a_killed_process(bus, peers, language, place):
    """No Python publisher takes part."""
    bus.create("t", **SMALL, delivery="reliable")
    with bus.subscriber("t") as sub:
        dead = peers.publish("c", "dead", 1, die_at=place)
        dead.expect("ready")
        dead.say("go")
        dead.join(KILLED)
        successor = peers.publish(language, "successor", 10)
        successor.expect("ready")
        successor.say("go")
        assert successor.hear_sent(10) == 10
        successor.join()
        assert [msg.seq for msg in sub.recv_many(100, timeout=60)] == list(range(1, 11))


@pytest.mark.parametrize("language", FOREIGN)
@pytest.mark.parametrize("role", ["publish", "subscribe"])
def test_a_removed_topic_is_noticed(bus, peers, language, role):
    bus.create("t", **SMALL, delivery="reliable")
    if role == "publish":
        peer = peers.publish(language, "s", 1)
        peer.expect("ready")
        bus.remove("t")
        peer.say("go")
    else:
        peer = peers.subscribe(language, "reliable")
        peer.hear()
        bus.remove("t")
    peer.join(GONE)


def start_victim(peers, place):
    """Start a program that dies at a step. Another one, killed before, leaves the state that leads there."""
    if place.startswith(("sweep", "help")):
        dead = peers.publish("c", "dead before", 1, die_at="claim.word")
        dead.expect("ready")
        dead.say("go")
        dead.join(KILLED)
    if place.startswith(("subscribe", "receive")):
        return peers.subscribe("c", "reliable", die_at=place)
    return peers.publish("c", "victim", 1000, die_at=place)


@pytest.mark.parametrize("place", STEPS)
def test_a_c_program_killed_at_any_step_disturbs_nobody(bus, peers, place):
    """The ring is small and full, readers sleep, and other processes publish."""
    bus.create("t", capacity=4096, slots=16, delivery="reliable")
    witness = peers.subscribe("c", "reliable")
    witness.expect(("ready", 0))
    witness.wait_until_asleep()
    victim = start_victim(peers, place)
    helper = peers.publish("python", "helper", 300)
    helper.expect("ready")
    helper.say("go")
    with contextlib.suppress(BrokenPipeError):  # it has died already
        victim.say("go")
    victim.join(KILLED)
    sent = max([0, *(line[1] for line in victim.heard_before_its_end() if line[0] == "sent")])
    with bus.publisher("t", sender="python") as pub:
        for _ in range(100):
            pub.send(b"after", timeout=60)
        helper.hear_sent(300)
        pub.send(b"", type="end", timeout=60)
    _, received, lost, position, _ = witness.hear()
    stats = bus.stats("t")
    assert lost == 0
    assert received >= 401 + sent
    assert position == stats["tail"] == received + stats["abandoned"]


@pytest.mark.parametrize("place", [place for place in STEPS if place.startswith("commit")])
@pytest.mark.parametrize("language", FOREIGN)
def test_the_next_only_publisher_goes_on_where_one_was_killed(bus, peers, language, place):
    """With one writer a message is complete or missing."""
    bus.create("t", **SMALL, writers="one", delivery="reliable")
    witness = peers.subscribe("c", "reliable")
    witness.expect(("ready", 0))
    victim = peers.publish("c", "victim", 10, die_at=f"{place}:5")
    victim.expect("ready")
    victim.say("go")
    victim.join(KILLED)
    successor = peers.publish(language, "successor", 100)
    successor.expect("ready")
    successor.say("go")
    successor.join()
    with bus.publisher("t") as pub:
        pub.send(b"", type="end")
    _, received, lost, position, _ = witness.hear()
    expected = (4 if place in ("commit.filled", "commit.described") else 5) + 101
    assert (received, lost, position, bus.stats("t")["tail"]) == (expected, 0, expected, expected)
