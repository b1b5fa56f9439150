# SPDX-License-Identifier: Apache-2.0
"""Links that are slow, and clients that are silent for long: nothing is given up that still moves or comes back."""

import os
import threading
from types import SimpleNamespace

import pytest

from slipring.bridge import transfer, wire
from support.waiting import WATCHDOG_S, eventually

RATE = 250_000
LARGE = bytes(range(256)) * (1 << 13)  # 2 MiB: eight seconds, sixteen heartbeats


@pytest.fixture
def slow(serve, connect, proxy):
    way = proxy(serve(heartbeat_s=0.5).address)
    remote = connect(way.address + "?connect_timeout=2")
    way.limit(RATE)
    return remote, way


def asking(remote, is_over) -> int:
    """Requests, one after the other, while something large is under way."""
    count = 0
    while not is_over():
        remote.topics()
        count += 1
    return count


@pytest.mark.timeout(180)
def test_a_message_that_takes_many_heartbeats_to_reach_the_server_is_published_once(slow, bus, background):
    remote, way = slow
    pub = remote.publisher("t")
    sub = bus.subscriber("t")
    sending = background(pub.send, LARGE)
    requests = background(asking, remote, lambda: sending.done)
    assert sending.result() == 0 and requests.result()
    assert sub.recv(0).body == LARGE and sub.recv(0) is None
    assert way.connections == 1


@pytest.mark.timeout(180)
def test_a_message_that_takes_many_heartbeats_to_reach_a_client_arrives_once(slow, bus, background):
    remote, way = slow
    sub = remote.subscriber("t")
    pub = bus.publisher("t")
    receiving = background(sub.recv, WATCHDOG_S)
    pub.send(LARGE)
    requests = background(asking, remote, lambda: receiving.done)
    assert receiving.result().body == LARGE and requests.result()
    pub.send(b"small")
    assert sub.recv(WATCHDOG_S).body == b"small"
    assert (sub.received, sub.lost) == (2, 0) and way.connections == 1


SILENT = """
import ctypes, os
pipe = os.open(fifo, os.O_RDWR)
remote = slipring.Bus(address)
sub, pub = remote.subscriber("t"), remote.publisher("t", sender="silent")
say(pub.send(b"0"), sub.recv(60).seq)
hear()
ctypes.PyDLL(None).read(pipe, ctypes.create_string_buffer(1), 1)  # a long call in C, with the interpreter's lock
say("back")
hear()
say(pub.send(b"2"))
say([sub.recv(60).seq for _ in range(2)], sub.lost)
remote.close()
"""


def test_a_client_that_was_silent_until_the_server_gave_it_up_continues(serve, bus, processes, tmp_path):
    served = serve(linger_s=0.2)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    client = processes.start(SILENT, address=served.address, fifo=str(fifo))
    client.expect((0, 0))
    assert bus.stats("t")["readers"]
    client.say("be silent")
    eventually(lambda: not bus.stats("t")["readers"], "the end of the session")
    assert bus.publisher("t").send(b"1") == 1
    with open(fifo, "wb") as end:
        end.write(b"x")
    client.expect("back")
    client.say("go on")
    client.expect(2)
    client.expect(([1, 2], 0))
    client.join()


def test_pieces_are_joined_to_the_original_message_and_others_are_malformed():
    records = [wire.Record(1, 2, 0, 0, "t", "s", LARGE), wire.Record(2, 3, 0, 0, "", "", b"")]
    frames = wire.with_records(wire.PUBLISH, 1, 2, 3.0, records=records)
    cut = list(transfer.pieces(frames))
    assert len(cut) > 60 and max(len(frame) for piece in cut for frame in piece) <= transfer.PIECE_BYTES
    incoming = transfer.Incoming(4 << 20)
    ping = wire.plain(wire.PING, 7)
    messages = [incoming.take(piece) or incoming.take(ping) for piece in cut]
    assert [message.kind for message in messages] == [wire.PING] * (len(cut) - 1) + [wire.PUBLISH]
    assert messages[-1] == wire.decode(frames)
    for wrong in (
        [cut[0], cut[0]],  # one inside another
        [cut[1]],  # a piece of nothing
        [cut[0], [cut[-1][0], b"x"]],  # a piece of another size
        [cut[0], [cut[-1][0], bytes(transfer.PIECE_BYTES)]],
        [wire.plain(wire.LARGE, 4, 1 << 30, 0, 0, 0)],  # more than is allowed
        [wire.plain(wire.LARGE, 5, 1 << 20, 0, 0, 0)],
        [wire.plain(wire.LARGE, 1, 1 << 20, 9, 0, 0)],
        [wire.plain(wire.LARGE, 1, 1, 0, 0, 0)],  # not large
    ):
        incoming = transfer.Incoming(4 << 20)
        with pytest.raises(wire.Malformed):
            for piece in wrong:
                incoming.take(piece)


def test_unconfirmed_bytes_are_bounded_and_the_rest_waits():
    taken: list[wire.Frames] = []
    outgoing = transfer.Outgoing(lambda frames: taken.append(frames) is None)
    batch = wire.with_records(
        wire.BATCH, 1, 0, 1, 1, 0, 0, records=[wire.Record(0, 0, 0, 0, "", "", bytes(1 << 20))]
    )
    for _ in range(10):
        outgoing.put(batch)
    assert outgoing.flush() and not outgoing.is_idle and outgoing.replies_bytes == 0
    sent = sum(len(frame) for frames in taken for frame in frames)
    assert transfer.MOST_UNCONFIRMED_BYTES - (1 << 19) < sent < transfer.MOST_UNCONFIRMED_BYTES + (1 << 19)
    while not outgoing.is_idle:
        before = len(taken)
        outgoing.confirm(
            max(wire.decode(frames).numbers[0] for frames in taken if frames[0][:1] == wire.PING)
        )
        outgoing.flush()
        assert len(taken) > before
    incoming = transfer.Incoming(4 << 20)
    messages = [incoming.take(frames) for frames in taken if frames[0][:1] != wire.PING]
    assert [message for message in messages if message] == [wire.decode(batch)] * 10


def test_a_sender_continues_where_its_socket_refused():
    taken: list[wire.Frames] = []
    open_gate = threading.Event()
    outgoing = transfer.Outgoing(lambda frames: open_gate.is_set() and taken.append(frames) is None)
    reply = wire.with_json(wire.REPLY, 1, content={"value": "x" * 100_000})
    assert outgoing.offer(reply)
    assert not outgoing.offer(reply) and not taken and not outgoing.is_idle
    open_gate.set()
    assert outgoing.flush() and outgoing.is_idle
    incoming = transfer.Incoming(4 << 20)
    messages = [incoming.take(frames) for frames in taken]
    assert [message for message in messages if message and message.kind == wire.REPLY] == [wire.decode(reply)]


def test_pieces_grow_with_fast_confirmations_and_shrink_with_slow_ones(monkeypatch):
    clock = iter(range(1_000_000))
    step = [0.0]
    monkeypatch.setattr(transfer, "time", SimpleNamespace(monotonic=lambda: next(clock) * step[0]))
    taken: list[wire.Frames] = []
    outgoing = transfer.Outgoing(lambda frames: taken.append(frames) is None)
    body = wire.with_records(
        wire.PUBLISH, 1, 2, 3.0, records=[wire.Record(1, 0, 0, 0, "", "", bytes(16 << 20))]
    )

    def largest_piece(sent: wire.Frames) -> int:
        """Of one message; the clock gives the delay of each confirmation."""
        taken.clear()
        outgoing.put(sent)
        while not outgoing.is_idle:
            outgoing.flush()
            outgoing.confirm(max((f[0] for f in map(_numbers, taken) if f), default=0))
        return max(len(frames[1]) for frames in taken if frames[0][:1] == wire.PIECE)

    assert transfer.PIECE_BYTES < largest_piece(body) <= largest_piece(body) == transfer.MOST_PIECE_BYTES
    step[0] = 2.0
    largest_piece(body)
    assert largest_piece(body) == transfer.PIECE_BYTES


def _numbers(frames: wire.Frames) -> tuple:
    message = wire.decode(frames)
    return message.numbers if message.kind == wire.PING else ()
