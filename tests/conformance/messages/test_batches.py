# SPDX-License-Identifier: Apache-2.0
"""Many messages in one call: send_many, recv_many, recv_batch; recv_into a buffer used again and again."""

import queue

import pytest

import slipring

pa = pytest.importorskip("pyarrow")

COLUMNS = [
    ("topic", pa.string()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("sender", pa.string()),
    ("type", pa.string()),
    ("value", pa.binary()),
]


def columns(batch) -> list:
    return [(field.name, field.type) for field in batch.schema]


@pytest.fixture
def pair(bus):
    return bus.publisher("t", sender="p", capacity="64KiB", slots=1024), bus.subscriber("t")


def test_send_many_sends_in_order_and_returns_the_last_sequence(pair):
    pub, sub = pair
    assert pub.send_many([b"a", b"b", b"c"], type="kind") == 2
    assert pub.send_many([]) is None
    assert pub.send_many((b"d",)) == 3
    assert pub.send_many(iter([b"e", b"f"])) == 5
    assert [(m.body, m.type) for m in sub.recv_many(9)] == [
        (b"a", "kind"), (b"b", "kind"), (b"c", "kind"), (b"d", ""), (b"e", ""), (b"f", "")
    ]  # fmt: skip


def test_recv_many_returns_at_most_what_was_asked_for(pair):
    pub, sub = pair
    pub.send_many([b"%d" % number for number in range(20)])
    assert [m.seq for m in sub.recv_many(7)] == list(range(7))
    assert [m.seq for m in sub.recv_many(7, timeout=None)] == list(range(7, 14))
    assert [m.seq for m in sub.recv_many()] == list(range(14, 20))
    assert sub.recv_many() == []


@pytest.mark.parametrize("call", ["recv_many", "recv_batch"])
@pytest.mark.parametrize("count", [-1, "5", 1.5, None])
def test_a_wrong_number_of_messages_is_refused_and_consumes_nothing(pair, call, count):
    pub, sub = pair
    pub.send(b"x")
    with pytest.raises((slipring.BadArgument, TypeError)):
        getattr(sub, call)(count)
    assert sub.recv(timeout=0).body == b"x"


def test_a_batch_has_the_columns_of_the_source_and_the_contents_of_the_messages(bus, pair):
    pub, sub = pair
    twin = bus.subscriber("t")
    other = bus.publisher("t", sender="größe🙂")
    for number in range(100):
        (pub, other)[number % 2].send(bytes([number]) * number, type="ü" * (number % 5))
    batch = sub.recv_batch()
    batch.validate(full=True)
    assert isinstance(batch, pa.RecordBatch)
    assert columns(batch) == COLUMNS
    messages = twin.recv_many(1000)
    assert batch.column("topic").to_pylist() == ["t"] * 100
    assert batch.column("offset").to_pylist() == [m.seq for m in messages] == list(range(100))
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [m.time_ns // 1000 for m in messages]
    assert batch.column("sender").to_pylist() == [m.sender for m in messages]
    assert batch.column("type").to_pylist() == [m.type for m in messages]
    assert batch.column("value").to_pylist() == [m.body for m in messages]
    assert sub.received == 100


def test_an_empty_batch_has_the_same_columns(pair):
    _, sub = pair
    for timeout in (0, 0.01):
        batch = sub.recv_batch(timeout=timeout)
        batch.validate(full=True)
        assert batch.num_rows == 0
        assert columns(batch) == COLUMNS


def test_a_batch_before_the_topic_exists_is_empty(bus):
    batch = bus.subscriber("later").recv_batch()
    assert (batch.num_rows, columns(batch)) == (0, COLUMNS)


def test_a_batch_holds_at_most_what_was_asked_for(pair):
    pub, sub = pair
    pub.send_many([b"x"] * 20)
    sizes = [sub.recv_batch(8).num_rows for _ in range(4)]
    assert sizes == [8, 8, 4, 0]


def test_a_batch_owns_its_contents(pair):
    pub, sub = pair
    bodies = [b"%05d" % number for number in range(500)]
    pub.send_many(bodies)
    batch = sub.recv_batch()
    pub.send_many([b"overwritten"] * 5000)
    sub.close()
    assert batch.column("value").to_pylist() == bodies


def test_the_kept_parts_of_a_batch_never_change(bus):
    """Whole batches, single columns and slices of them are kept while hundreds of others come and go."""
    pub, sub = bus.publisher("kept", sender="p", capacity="4MiB"), bus.subscriber("kept")
    kept = []
    for turn in range(300):
        bodies = [b"%d:%d|" % (turn, number) * (turn % 7 + 1) for number in range(1 + turn * 37 % 500)]
        pub.send_many(bodies, type=str(turn))
        batch = sub.recv_batch()
        assert batch.column("value").to_pylist() == bodies
        if turn % 4 == 0:
            kept.append((batch, bodies))
        elif turn % 4 == 1:
            kept.append((batch.column("value"), bodies))
        elif turn % 4 == 2:
            kept.append((batch.column("value").slice(len(bodies) // 2), bodies[len(bodies) // 2 :]))
        kept = kept[-60:]
    sub.close()
    bus.close()
    for what, bodies in kept:
        column = what.column("value") if isinstance(what, pa.RecordBatch) else what
        assert column.to_pylist() == bodies


def test_batches_may_be_dropped_in_other_threads(pair, background):
    pub, sub = pair
    made = queue.SimpleQueue()

    def drop() -> int:
        rows = 0
        while (batch := made.get()) is not None:
            rows += sum(body == b"%05d" % offset for body, offset in rows_of(batch))
        return rows

    def rows_of(batch):
        return zip(batch.column("value").to_pylist(), batch.column("offset").to_pylist(), strict=True)

    dropping = [background(drop) for _ in range(2)]
    for turn in range(400):
        pub.send_many([b"%05d" % (turn * 50 + number) for number in range(50)])
        made.put(sub.recv_batch())
    for _ in dropping:
        made.put(None)
    assert sum(call.result() for call in dropping) == 400 * 50


@pytest.mark.needs("ring", "lapping")
def test_batches_of_a_lapped_filtering_reader_balance(bus, pair):
    pub, _ = pair
    sub = bus.subscriber("t", ignore_types=["skip"])
    rows = 0
    for turn in range(40):
        for number in range(turn * 50):
            pub.send(b"x" * 30, type="skip" if number % 3 == 0 else "")
        rows += sub.recv_batch(1000).num_rows
    while got := sub.recv_batch(1000).num_rows:
        rows += got
    assert rows == sub.received
    assert sub.lost > 0 < sub.filtered
    assert sub.received + sub.lost + sub.filtered == sub.position == bus.stats("t")["published"]


def test_a_batch_waits_for_its_first_message(pair, background):
    pub, sub = pair
    waiting = background(sub.recv_batch, 100, timeout=None)
    waiting.wait_until_asleep()
    pub.send(b"x")
    assert waiting.result().column("value").to_pylist() == [b"x"]


def test_large_bodies_fit_a_batch(bus):
    pub, sub = bus.publisher("big", capacity="16MiB"), bus.subscriber("big")
    bodies = [bytes([number]) * (1 << 20) for number in range(12)]
    pub.send_many(bodies)
    got = []
    while batch := sub.recv_batch(100):
        batch.validate(full=True)
        got += batch.column("value").to_pylist()
    assert got == bodies


def test_recv_into_fills_the_first_bytes_of_the_buffer(pair):
    pub, sub = pair
    buffer = bytearray(b"." * 10)
    pub.send(b"hello", type="kind")
    message = sub.recv_into(buffer, timeout=0)
    assert isinstance(message.body, memoryview)
    assert bytes(message.body) == b"hello"
    assert buffer == b"hello....."
    assert (message.sender, message.type, message.seq, message.topic) == ("p", "kind", 0, "t")
    buffer[0] = ord("j")
    assert bytes(message.body) == b"jello"
    assert sub.recv_into(buffer, timeout=0) is None


def test_recv_into_accepts_any_writable_buffer(pair):
    from array import array

    pub, sub = pair
    for buffer in (
        bytearray(16),
        memoryview(bytearray(16)),
        array("d", [0, 0]),
        memoryview(bytearray(32))[16:],
    ):
        pub.send(b"x" * 16)
        assert bytes(sub.recv_into(buffer, timeout=0).body) == b"x" * 16
        assert memoryview(buffer).tobytes() == b"x" * 16


@pytest.mark.parametrize("buffer", [b"read only", "text", 16, None], ids=lambda value: type(value).__name__)
def test_a_buffer_that_cannot_be_written_is_refused_and_consumes_nothing(pair, buffer):
    pub, sub = pair
    pub.send(b"x")
    with pytest.raises((TypeError, BufferError, slipring.BadArgument)):
        sub.recv_into(buffer, timeout=0)
    assert sub.recv(timeout=0).body == b"x"


def test_a_message_larger_than_the_buffer_is_refused_and_stays(pair):
    pub, sub = pair
    pub.send_many([b"x" * 100, b"y"])
    small = bytearray(99)
    for _ in range(2):
        with pytest.raises(slipring.BadArgument, match=r"buffer.*100"):
            sub.recv_into(small, timeout=0)
    assert bytes(sub.recv_into(bytearray(100), timeout=0).body) == b"x" * 100
    assert bytes(sub.recv_into(small, timeout=0).body) == b"y"
    assert (sub.received, sub.lost) == (2, 0)


def test_the_time_of_a_message_is_when_it_was_sent(bus, pair):
    pub, sub = pair
    tolerance = 50_000_000  # a coarse clock is fine
    before = bus.clock.time_ns() - tolerance
    pub.send_many([b"x"] * 10)
    pub.send(b"y")
    after = bus.clock.time_ns() + tolerance
    times = [m.time_ns for m in sub.recv_many(100)]
    assert before <= times[0] <= times[-1] <= after
    assert times == sorted(times)
