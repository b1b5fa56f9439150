# SPDX-License-Identifier: Apache-2.0
"""Input from the network is checked; a bad peer is dropped, and other clients are not affected."""

import contextlib
import os
import socket
import struct
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st

import slipring
from slipring.bridge import wire
from support.waiting import WATCHDOG_S, eventually

KINDS = sorted(wire._KINDS)
numbers = st.integers(0, (1 << 63) - 1)
texts = st.text(max_size=60)
records = st.builds(
    wire.Record,
    numbers,
    st.integers(-(1 << 63), (1 << 63) - 1),
    numbers,
    numbers,
    texts,
    texts,
    st.binary(max_size=200),
)


@given(st.lists(records, max_size=8))
def test_records_are_decoded_as_they_were_encoded(sent):
    message = wire.decode(wire.with_records(wire.BATCH, 1, 2, 3, 4, 5, 6, records=sent))
    assert message == (wire.BATCH, (1, 2, 3, 4, 5, 6), sent)


@given(
    st.sampled_from([*KINDS, b"", b"?"]),
    st.binary(max_size=64),
    st.lists(st.binary(max_size=200), max_size=4),
)
def test_any_bytes_are_a_valid_message_or_malformed(kind, head, rest):
    with contextlib.suppress(wire.Malformed):
        wire.decode([kind + head, *rest])


@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_a_damaged_message_is_a_valid_one_or_malformed(sent, data):
    frames = wire.with_records(wire.PUBLISH, 1, 2, 3.0, records=sent)
    which = data.draw(st.integers(0, len(frames) - 1))
    damaged = bytearray(frames[which])
    for _ in range(data.draw(st.integers(1, 5))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    for content in (bytes(damaged), bytes(damaged[:cut])):
        try:
            message = wire.decode([*frames[:which], content, *frames[which + 1 :]])
        except wire.Malformed:
            continue
        if message.kind == wire.PUBLISH:
            assert sum(len(record.body) for record in message.content) <= sum(map(len, frames))


@pytest.mark.parametrize("which", [1, 2, 3])
def test_sizes_that_do_not_add_up_are_malformed(which):
    record = wire.Record(1, 2, 0, 0, "type", "sender", b"body")
    frames = wire.with_records(wire.PUBLISH, 1, 2, 3.0, records=[record])
    for content in (frames[which] + b"x", frames[which][:-1]):
        with pytest.raises(wire.Malformed):
            wire.decode([*frames[:which], content, *frames[which + 1 :]])


def test_deeply_nested_json_is_malformed():
    with pytest.raises(wire.Malformed):
        wire.decode([wire.plain(wire.REQUEST, 1)[0], b"[" * 100_000])


GREETING = wire.with_json(wire.HELLO, wire.MAGIC, wire.VERSION, b"e" * 16, content={"bus": "test"})
BAD = {
    "noise": [[b"\x00" * 100]],
    "no greeting": [wire.with_json(wire.REQUEST, 1, content={"request": "topics"})],
    "unknown request": [GREETING, wire.with_json(wire.REQUEST, 1, content={"request": "__class__"})],
    "wrong types": [
        GREETING,
        wire.with_json(wire.REQUEST, 1, content={"request": "subscribe", "handle": "x"}),
        wire.with_json(wire.REQUEST, 2, content={"request": "publisher", "handle": -1, "topic": 3}),
        wire.with_json(wire.REQUEST, 3, content={"request": "create", "topic": "../x", "exist_ok": True,
                                                 "settings": {"capacity": 1 << 70}}),
        wire.with_json(wire.REQUEST, 4, content={"request": "create", "topic": "x", "exist_ok": True,
                                                 "settings": {"cls": 1}}),
    ],
    "nobody's handle": [
        GREETING,
        wire.plain(wire.ACK, 7, 7, 1 << 62),
        wire.plain(wire.SYNC, 7, 7, 7),
        wire.with_records(wire.PUBLISH, 1, 7, float("nan"), records=[]),
    ],
    "a server's words": [GREETING, wire.plain(wire.SYNCED, 1, 1, 1)],
    "half a message": [GREETING, [wire.plain(wire.PING, 1)[0][:-1]]],
}  # fmt: skip


@pytest.mark.parametrize("messages", BAD.values(), ids=BAD)
def test_a_peer_that_sends_nonsense_disturbs_no_other_client(serve, connect, messages):
    served = serve()
    remote = connect(served.address)
    sub, pub = remote.subscriber("t"), remote.publisher("t")
    parts = urlsplit(served.address)
    context = zmq.Context()
    with context.socket(zmq.DEALER) as bad:
        bad.linger = 0
        bad.connect(f"tcp://127.0.0.1:{parts.port}")
        for _ in range(20):
            for frames in messages:
                bad.send_multipart(frames)
        assert bad.poll(10_000) or messages == BAD["nobody's handle"]
        for number in range(50):
            assert pub.send(b"%d" % number) == number
            assert sub.recv(WATCHDOG_S).seq == number
    context.term()
    assert served.process.alive and remote.topics() == ["t"]


def test_a_peer_without_zeromq_disturbs_no_other_client(serve, connect):
    served = serve()
    remote = connect(served.address)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", urlsplit(served.address).port)) as bad:
            bad.sendall(os.urandom(3000))
    assert remote.publisher("t").send(b"x") == 0


def test_a_message_larger_than_allowed_ends_its_sender_s_connection_only(serve, connect):
    served = serve(max_message="1MiB")
    remote = connect(served.address)
    context = zmq.Context()
    with context.socket(zmq.DEALER) as bad:
        bad.linger = 0
        bad.connect(f"tcp://127.0.0.1:{urlsplit(served.address).port}")
        bad.send_multipart([*GREETING[:1], bytes(32 << 20)])
        assert remote.publisher("t").send(b"x") == 0
    context.term()


def rss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def test_memory_is_bounded_at_both_ends_for_a_subscriber_that_never_reads(serve, bus, processes):
    served = serve()
    reader = processes.start(
        """
        remote = slipring.Bus(address)
        subs = [remote.subscriber("t") for _ in range(4)]
        say("ready")
        hear()
        say([sub.recv(60).seq for sub in subs], [sub.lost for sub in subs])
        remote.close()
        """,
        address=served.address,
    )
    reader.expect("ready")
    before = rss(reader.pid), rss(served.process.pid)
    pub = bus.publisher("t", capacity="1MiB")
    for _ in range(3000):
        pub.send(bytes(100_000))  # 300 MB, four times
    with slipring.Bus(served.address) as remote:
        last = remote.subscriber("t", start="last")
        assert eventually(lambda: last.recv(1), "the server's keeping up").seq == 2999
    after = rss(reader.pid), rss(served.process.pid)
    for then, now in zip(before, after, strict=True):
        assert now - then < 64 << 20
    reader.say("read")
    seqs, lost = reader.hear()
    assert seqs == lost  # they were there before the topic: what they do not see is counted
    reader.join()


MOST_BYTES = 1 << 30
_READY = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"


def shake_hands(bad: socket.socket) -> None:
    """ZMTP 3.1 without ZeroMQ: the greeting, then READY, each after the other side's."""
    with bad.makefile("rb", buffering=0) as answers:
        bad.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32))
        greeting = b""
        while len(greeting) < 64:
            greeting += answers.read(64 - len(greeting))
        bad.sendall(bytes([4, len(_READY)]) + _READY)
        assert answers.read(1) == b"\x04"


def frame(content: bytes, more: bool) -> bytes:
    return bytes([2 | more]) + struct.pack(">Q", len(content)) + content


@pytest.mark.parametrize("greeted", [False, True], ids=["before a greeting", "after a greeting"])
def test_a_message_without_an_end_ends_its_sender_s_connection_only(serve, connect, greeted):
    served = serve()
    remote = connect(served.address)
    with socket.create_connection(("127.0.0.1", urlsplit(served.address).port)) as bad:
        shake_hands(bad)
        if greeted:
            bad.sendall(frame(GREETING[0], True) + frame(GREETING[1], False))
        endless = frame(bytes(1 << 15), True)
        with pytest.raises(ConnectionError):
            for _ in range(MOST_BYTES // len(endless)):
                bad.sendall(endless)
    assert remote.publisher("t").send(b"x") == 0
    assert "bytes came from it that are not a message" in served.process.stderr


def test_a_client_that_never_reads_its_replies_is_refused(serve, connect):
    served = serve()
    remote = connect(served.address)
    with socket.create_connection(("127.0.0.1", urlsplit(served.address).port)) as bad:
        shake_hands(bad)
        bad.sendall(frame(GREETING[0], True) + frame(GREETING[1], False))
        request = wire.with_json(wire.REQUEST, 1, content={"request": "x" * 2000})
        with pytest.raises(ConnectionError):
            for _ in range(MOST_BYTES // 2000):
                bad.sendall(frame(request[0], True) + frame(request[1], False))
    assert remote.publisher("t").send(b"x") == 0
    assert "it was refused" in served.process.stderr


def test_an_error_does_not_repeat_all_that_a_client_sent(serve, connect):
    remote = connect(serve().address)
    with pytest.raises(slipring.BadArgument) as caught:
        remote._link.request("x" * (1 << 20))
    assert len(str(caught.value)) < 10_000


def test_a_client_that_waits_for_a_taken_cursor_does_not_delay_others(serve, connect, bus):
    served = serve()
    remote = connect(served.address)
    remote.create("t")
    taken = bus.subscriber("t", cursor="c")
    opening = {"handle": 1, "topic": "t", "start": "new", "lossy": None, "cursor": "c", "conflate": False}
    opening |= {"types": None, "ignore_types": [], "ignore_senders": [], "expires": None, "own": None}
    opening |= {"messages": 1, "bytes": 1, "resume": None, "generation": None, "waited": False}
    context = zmq.Context()
    with context.socket(zmq.DEALER) as standby:
        standby.linger = 0
        standby.connect(f"tcp://127.0.0.1:{urlsplit(served.address).port}")
        standby.send_multipart(GREETING)
        standby.send_multipart(wire.with_json(wire.REQUEST, 1, content={"request": "subscribe", **opening}))
        standby.send_multipart(wire.with_json(wire.REQUEST, 2, content={"request": "topics"}))
        replies = []
        while len(replies) < 2:
            assert standby.poll(WATCHDOG_S * 1000)
            message = wire.decode(standby.recv_multipart())
            if message.kind == wire.REPLY:
                replies.append((message.numbers[0], message.content.get("error")))
    context.term()
    assert replies == [(2, None), (1, "Busy")]
    taken.close()
