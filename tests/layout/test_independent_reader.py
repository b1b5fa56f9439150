# SPDX-License-Identifier: Apache-2.0
"""A reader written from the document alone decodes live topics and agrees with Slipring."""

import os
import random
from pathlib import Path

import pytest

from layout import document
from layout.independent_reader import Damaged, Topic
from schema import samples

LAYOUT = document.read()
KINDS = {LAYOUT.constants[f"kind_{kind}"]: kind for kind in ("lossy", "reliable", "cursor")}
TYPES = ("", "imu.v1", "grüße", "x" * 255)


class Aborted(Exception):
    pass


def look(bus, topic: str = "t") -> Topic:
    return Topic(bus.path, topic, LAYOUT)


def publish(publishers, count: int, dice: random.Random, largest: int, abort: float = 0.0) -> None:
    """Publish messages of all lengths by send, send_many and loan. Abort some loans."""
    for number in range(count):
        publisher = dice.choice(publishers)
        body = dice.randbytes(dice.choice([0, 1, 7, 8, 9, dice.randrange(largest), largest]))
        kind = dice.choice(TYPES)
        if number % 3 == 0:
            publisher.send(body, type=kind)
        elif number % 3 == 1:
            publisher.send_many([body, body[::-1]], type=kind)
        else:
            try:
                with publisher.loan(len(body), type=kind) as view:
                    view[:] = body
                    if dice.random() < abort:
                        raise Aborted
            except Aborted:
                pass


def agree(bus, topic: str = "t") -> int:
    """Compare every message. Return their number."""
    with look(bus, topic) as seen, bus.subscriber(topic, start="oldest", lossy=True) as sub:
        found = [(m.seq, m.time_ns, m.sender.decode(), m.type.decode(), m.body) for m in seen.messages()]
        expected = [(m.seq, m.time_ns, m.sender, m.type, m.body) for m in sub.recv_many(1 << 20)]
        stats = bus.stats(topic)
        assert found == expected
        assert (seen.oldest, seen.tail) == (stats["oldest"], stats["tail"])
        gone = seen.states().count(LAYOUT.constants["state_gone"])
        assert seen.abandoned_below_oldest + gone == stats["abandoned"]
        assert seen.tail - stats["abandoned"] == stats["published"]
        return len(found)


@pytest.mark.parametrize("writers", ["one", "many"])
@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
@pytest.mark.parametrize("rounds", [0, 1, 400])
def test_all_messages_are_decoded_across_every_wrap(bus, writers, delivery, rounds):
    dice = random.Random(rounds)
    bus.create("t", capacity=8192, slots=32, writers=writers, delivery=delivery)
    senders = ["gyro"] if writers == "one" else ["gyro", "", "s" * 255]
    publishers = [bus.publisher("t", sender=sender) for sender in senders]
    for _ in range(8):
        publish(publishers, rounds, dice, largest=1000)
        agree(bus)
    assert (agree(bus) > 0) == (rounds > 0)


@pytest.mark.parametrize("writers", ["one", "many"])
@pytest.mark.parametrize("abort", [0.1, 0.9, 1.0])
def test_aborted_loans_are_neither_shown_nor_counted_as_messages(bus, writers, abort):
    dice = random.Random(7)
    publishers = [bus.publisher("t", sender="gyro", capacity=8192, slots=32, writers=writers)]
    for _ in range(50):
        publish(publishers, 7, dice, largest=500, abort=abort)
        agree(bus)


@pytest.mark.parametrize("writers", ["one", "many"])
def test_reading_stops_at_an_open_loan_of_a_living_writer(bus, writers):
    pub = bus.publisher("t", capacity=8192, slots=32, writers=writers)
    pub.send(b"before")
    with pub.loan(8) as view:
        pub.send(b"behind")
        with look(bus) as seen:
            assert [m.body for m in seen.messages()] == [b"before"]
            assert seen.states() == [LAYOUT.constants[f"state_{s}"] for s in ("ready", "claimed", "ready")]
        view[:] = b"12345678"
    with look(bus) as seen:
        assert [m.body for m in seen.messages()] == [b"before", b"12345678", b"behind"]


def test_a_claim_of_a_dead_process_does_not_stop_reading(bus, processes):
    pub = bus.publisher("t", capacity=8192, slots=32)
    child = processes.start("""
        pub = bus.publisher("t", sender="doomed")
        loan = pub.loan(8)
        view = loan.__enter__()
        say("claimed")
        hear()
    """)
    child.expect("claimed")
    pub.send(b"behind")
    with look(bus) as seen:
        assert seen.messages() == []
        child.kill()
        assert [m.body for m in seen.messages()] == [b"behind"]
        assert [w.alive for w in seen.writers()] == [True, False]


def test_the_largest_message_is_decoded_at_every_place(bus):
    pub = bus.publisher("t", sender="s", capacity=4096, slots=16)
    for size in (4080, 4088, 1, 4081, 0, 4087):
        pub.send(bytes(range(256)) * 15 + b"x" * (size - 3840) if size > 3840 else b"y" * size)
        assert agree(bus) >= 1


def test_the_writer_table_equals_the_statistics(bus):
    publishers = [bus.publisher("t", sender=name) for name in ("gyro", "", "n" * 100)]
    for count, pub in enumerate(publishers):
        pub.send_many([b"12345"] * count)
    publishers[1].close()
    publishers[0].close()
    bus.publisher("t", sender="gyro").send(b"123456")  # in the first entry again, with new counters
    publishers[0] = bus.publisher("t", sender="gyro")
    with look(bus) as seen:
        found = [(w.entry, w.alive, w.pid, w.name.decode(), w.published, w.bytes) for w in seen.writers()]
    expected = [tuple(row.values()) for row in bus.stats("t")["publishers"]]
    assert found == expected
    assert found == [(0, True, os.getpid(), "gyro", 0, 0), (2, True, os.getpid(), "n" * 64, 2, 10)]


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_the_reader_table_equals_the_statistics(bus, delivery):
    pub = bus.publisher("t", capacity=4096, slots=16, delivery=delivery)
    subs = [bus.subscriber("t", lossy=True), bus.subscriber("t"), bus.subscriber("t", cursor="c")]
    filtering = bus.subscriber("t", types=["wanted"])
    bus.subscriber("t").close()
    pub.send_many([b"x"] * 5)
    pub.send(b"y", type="wanted")
    subs[0].recv()
    subs[1].recv_many(3)
    filtering.recv()
    if delivery == "lossy":
        for _ in range(100):
            pub.send(b"z")
        subs[1].recv()
    with subs[0].view() as held, look(bus) as seen:
        found = seen.readers()
        expected = bus.stats("t")["readers"]
        assert found[0].hold == held.seq
    names = ("entry", "alive", "pid", "position", "received", "lost", "filtered")
    assert [[getattr(r, name) for name in names] for r in found] == [
        [row[name] for name in names] for row in expected
    ]
    assert [KINDS[r.kind] for r in found] == [row["kind"] for row in expected]
    assert (found[1].hold == subs[1].position) == (delivery == "reliable")


def test_the_cursors_equal_the_statistics(bus):
    pub = bus.publisher("t", capacity=4096, slots=16, delivery="reliable")
    attached = bus.subscriber("t", cursor="attached")
    left = bus.subscriber("t", cursor="left-behind")
    dropped = bus.subscriber("t", cursor="dropped")
    pub.send_many([b"x"] * 5)
    attached.recv_many(3)
    attached.commit()
    left.close()
    dropped.close()
    bus.drop_cursor("t", "dropped")
    with look(bus) as seen:
        found = [(c.name.decode(), c.position, c.attached) for c in seen.cursors()]
    assert found == [("attached", 3, True), ("left-behind", 0, False)]
    assert found == [(c["name"], c["position"], c["attached"]) for c in bus.cursors("t")]


@pytest.mark.parametrize("writers", ["one", "many"])
def test_nothing_torn_is_decoded_while_a_publisher_laps_the_reader(bus, processes, writers):
    bus.create("t", capacity=16384, slots=64, writers=writers)
    child = processes.start("""
        import itertools
        pub = bus.publisher("t", sender="racer")
        say("running")
        for number in itertools.count():
            pub.send(number.to_bytes(8, "little") * (number % 100))
    """)
    child.expect("running")
    decoded, last = 0, -1
    with look(bus) as seen:
        while decoded < 2000:
            for message in seen.messages():
                assert message.sender == b"racer"
                assert message.body == message.seq.to_bytes(8, "little") * (message.seq % 100)
                decoded += message.seq > last
                last = max(last, message.seq)
    child.kill()
    with look(bus) as seen, bus.subscriber("t", start="oldest") as sub:
        assert [m.seq for m in seen.messages()] == [m.seq for m in sub.recv_many(1000)]


def test_every_limit_of_the_geometry_has_the_documented_offsets(bus):
    for number, settings in enumerate(
        [
            {"capacity": 4096, "slots": 16, "max_writers": 1, "max_readers": 1, "max_cursors": 1},
            {"capacity": 4096, "slots": 4096, "max_writers": 4096, "max_readers": 3, "max_cursors": 4096},
            {"capacity": "1MiB", "slots": 16, "max_writers": 33, "max_readers": 65536, "max_cursors": 5},
            {"capacity": 5000, "slots": 17},
        ]
    ):
        bus.create(f"t{number}", **settings)
        with look(bus, f"t{number}") as seen:  # checks every offset and size of both files
            stats = bus.stats(f"t{number}")
            counts = {"capacity": "capacity", "slots": "slot_count", "max_writers": "writer_count"}
            assert all(stats[name] == seen.geometry[field] for name, field in counts.items())
            assert stats["file_bytes"] == seen.geometry["ring_size"]


SIZES = [200, 4095, 4096, 4097, 70_000, 1 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_the_schema_of_a_topic_is_read_from_the_document_alone(bus, size):
    asked = samples.schema_of_size(size)
    bus.create("t", capacity=8192, slots=32, schema=asked)
    with look(bus) as seen:
        assert len(seen.schema()) == size
        assert seen.schema() == bus.schema("t").to_bytes() == asked.to_bytes()


def test_a_topic_without_a_schema_has_none_in_its_file(bus):
    bus.create("t", capacity=8192, slots=32)
    with look(bus) as seen:
        assert seen.schema() is None
        assert seen.ring["schema_hash"] == 0


@pytest.mark.parametrize("place", [0, 100, -1])
def test_a_damaged_byte_of_the_schema_is_noticed_and_messages_are_read(bus, place):
    bus.create("t", capacity=8192, slots=32, schema=samples.schema_of_size(200))
    with bus.publisher("t") as pub:
        pub.send({"t": 1.0, "why": bus.schema("t").fields[1][1].values[0][1]})
    with look(bus) as seen:
        damage(Path(bus.path, "t.ring"), seen.geometry["schema_offset"] + place % 200)
        with pytest.raises(Damaged, match="hash"):
            seen.schema()
        assert len(seen.messages()) == 1


@pytest.mark.parametrize("field", ["schema_size", "schema_hash"])
def test_a_damaged_header_of_the_schema_is_noticed(bus, field):
    bus.create("t", capacity=8192, slots=32, schema=samples.schema_of_size(200))
    place = next(row.offset for row in LAYOUT.structures["ring_header"] if row.name == field)
    damage(Path(bus.path, "t.ring"), place + 3)  # a size of more than max_schema
    with pytest.raises(Damaged), look(bus) as seen:
        seen.schema()


def damage(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 0x40]))
