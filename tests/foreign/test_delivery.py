# SPDX-License-Identifier: Apache-2.0
"""One foreign program and Python exchange messages: all arrive whole and in order, and every loss is counted."""

import struct
import time
from pathlib import Path

import pytest

from foreign.peers import message
from layout import document

LANGUAGES = ["c", "java", "java+futex"]
LAYOUT = document.read()
SMALL = {"capacity": 8192, "slots": 32}


class Aborted(Exception):
    pass


def abort_a_loan(pub) -> None:
    try:
        with pub.loan(8):
            raise Aborted
    except Aborted:
        pass


def readers_field(bus, name: str) -> int:
    [field] = [f for f in LAYOUT.structures["readers_header"] if f.name == name]
    raw = Path(bus.path, "t.readers").read_bytes()
    return struct.unpack_from("<I", raw, field.offset)[0]


def futex_word(bus, name: str) -> dict[str, int]:
    word = readers_field(bus, name)
    return {part: bits.of(word) for part, bits in LAYOUT.words["futex"].items()}


@pytest.mark.parametrize("writers", ["many", "one"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_python_receives_every_message_of_a_foreign_publisher(bus, peers, language, writers):
    bus.create("t", **SMALL, writers=writers, delivery="reliable")
    before = time.time_ns()
    with bus.subscriber("t") as sub:
        peer = peers.publish(language, "stränger", 3000)
        peer.expect("ready")
        peer.say("go")
        for number in range(3000):
            msg = sub.recv(timeout=60)
            assert (msg.seq, msg.sender) == (number, "stränger")
            assert (msg.type, msg.body) == message(number, 200)
            assert before - 1e9 <= msg.time_ns <= time.time_ns() + 1e9
        assert peer.hear_sent(3000) == 2999
        peer.join()
        assert (sub.lost, bus.stats("t")["published"]) == (0, 3000)


@pytest.mark.parametrize("writers", ["many", "one"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_foreign_subscriber_receives_every_message_of_python(bus, peers, language, writers):
    bus.create("t", **SMALL, writers=writers, delivery="reliable")
    peer = peers.subscribe(language, "reliable", how="each")
    peer.expect(("ready", 0))
    with bus.publisher("t", sender="grüße") as pub:
        for number in range(400):
            type, body = message(number, 900)
            body = body if number % 7 else b""
            seq = pub.send(body, type=type if number % 5 else "")
            shown_seq, time_ns, *shown = peer.hear()
            assert shown_seq == seq
            assert abs(time_ns - time.time_ns()) < 60e9
            assert [bytes.fromhex(part) for part in shown] == [
                "grüße".encode(),
                type.encode() if number % 5 else b"",
                body,
            ]
        pub.send(b"", type="end")
        peer.hear()
        assert peer.hear()[:4] == ("end", 401, 0, 401)
        peer.join()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_largest_message_goes_both_ways(bus, peers, language):
    bus.create("t", capacity=4096, slots=16, delivery="reliable")
    listener = peers.subscribe(language, "reliable", how="each")
    listener.expect(("ready", 0))
    body = bytes(range(256)) * 15
    with bus.publisher("t", sender="s" * 200) as pub:
        for _ in range(40):
            pub.send(body, type="t" * 56)
            assert bytes.fromhex(listener.hear()[4]) == body
        pub.send(b"", type="end")
    speaker = peers.publish(language, "s", 40, 4080)
    with bus.subscriber("t") as sub:
        speaker.expect("ready")
        speaker.say("go")
        for number in range(40):
            assert sub.recv(timeout=60).body == message(number, 4080)[1]
        speaker.join()
    listener.join()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("behind", [32, 31, 64, 1000, 3200])
def test_a_lapped_foreign_reader_counts_its_exact_loss(bus, peers, language, behind):
    bus.create("t", **SMALL)
    peer = peers.subscribe(language, "lossy", how="paused")
    peer.expect(("ready", 0))
    with bus.publisher("t") as pub:
        for number in range(behind - 1):
            if number % 9 == 4:
                abort_a_loan(pub)  # a sequence without a message counts neither as received nor as lost
            pub.send(b"x" * (number % 50))
        pub.send(b"", type="end")
    peer.say("go")
    _, received, lost, position, _ = peer.hear()
    assert received + lost == behind == bus.stats("t")["published"]
    assert position == bus.stats("t")["tail"]
    assert lost > 0 or behind <= 32
    peer.join()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_foreign_reader_that_is_overtaken_while_it_copies_shows_only_whole_messages(
    bus, peers, language, background
):
    """The reader is slow because it prints each message: it always copies messages about to be overwritten."""
    largest, count = 3000, 150_000
    bus.create("t", capacity=32768, slots=16)
    reader = peers.subscribe(language, "lossy", how="each")
    reader.expect(("ready", 0))
    writer = peers.publish("c", "racer", count, largest, every=count)
    writer.expect("ready")
    writer.say("go")

    def send_the_end():
        writer.hear_sent(count)
        with bus.publisher("t") as pub:
            pub.send(b"", type="end")

    ending, received = background(send_the_end), 0
    while (heard := reader.hear())[0] != "end":
        _, _, sender, type, body = heard
        received += 1
        shown = bytes.fromhex(type).decode(), bytes.fromhex(body)
        if shown[0] != "end":
            assert bytes.fromhex(sender) == b"racer"
            assert shown == message(int(shown[1].split(b" ")[0]), largest)
    ending.result()
    assert heard[1] == received
    assert heard[1] + heard[2] == count + 1
    assert heard[2] > 1000
    reader.join()


@pytest.mark.parametrize("language", LANGUAGES)
def test_loss_is_exact_for_a_foreign_reader_that_joined_behind_an_open_claim(bus, peers, language):
    bus.create("t", **SMALL)
    with bus.publisher("t") as pub:
        loan = pub.loan(8)
        loan.__enter__()
        peer = peers.subscribe(language, "lossy", how="paused")
        peer.expect(("ready", 1))
        loan.__exit__(Aborted, Aborted(), None)
        for number in range(200):
            if number % 20 == 0:
                abort_a_loan(pub)
            pub.send(b"x")
        pub.send(b"", type="end")
    peer.say("go")
    _, received, lost, _, _ = peer.hear()
    assert received + lost == 201
    peer.join()


def test_a_sleeping_c_reader_is_woken_by_python(bus, peers):
    bus.create("t", **SMALL)
    peer = peers.subscribe("c", "lossy", how="each")
    peer.expect(("ready", 0))
    with bus.publisher("t") as pub:
        for number in range(20):
            peer.wait_until_asleep()
            assert futex_word(bus, "wake")["sleeping"] == 1
            pub.send(b"%d" % number)
            assert peer.hear()[0] == number
        pub.send(b"", type="end")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_foreign_publisher_wakes_a_sleeping_python_reader_or_marks_the_wake_up_as_due(
    bus, peers, language, background
):
    """Pure Java cannot make the futex call. It leaves *waking* set, and the reader reads the ring after its slice."""
    bus.create("t", **SMALL)
    with bus.subscriber("t") as sub:
        peer = peers.publish(language, "s", 1)
        peer.expect("ready")
        sleeper = background(sub.recv, timeout=60)
        sleeper.wait_until_asleep()
        before = futex_word(bus, "wake")
        assert before["sleeping"] == 1
        peer.say("go")
        peer.join()
        after = futex_word(bus, "wake")
        assert after["count"] > before["count"]
        assert after["waking"] == (language == "java")
        assert readers_field(bus, "cannot_wake") == (language == "java")
        assert sleeper.result().body == b"0 "
        with bus.publisher("t") as pub:  # the next publisher makes the call that is due
            pub.send(b"")
        assert futex_word(bus, "wake")["waking"] == 0
