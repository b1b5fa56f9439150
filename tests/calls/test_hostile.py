# SPDX-License-Identifier: Apache-2.0
"""Garbage on the rings of a service: counted and dropped, nobody ends, hangs or grows (invariant 7)."""

import itertools
import random

import pytest

import slipring
from slipring._bus.calls import envelope
from slipring._bus.calls import protocol as m
from support.waiting import eventually

FOREIGN = "0123456789abcdef"


def garbage(luck: random.Random, client: str, instance: int):
    """Senders and bodies as somebody hostile would choose them."""
    call = m.Call(instance, 0, 0, 0, "echo", b"\x92\x91\x01\x80")
    whole = [
        envelope.call(luck.randrange(2**64), call),
        envelope.call(1, call._replace(arguments=luck.randbytes(30))),
        envelope.call(2, call._replace(arguments=b"\xdd\xff\xff\xff\xff" * 4)),
        envelope.call(3, call._replace(arguments=b"\x91" * 5000)),
        envelope.call(4, call._replace(window=2**32 - 1, method="count", arguments=b"\x92\x91\x05\x80")),
        envelope.call(5, call._replace(server=luck.randrange(2**64))),
        envelope.call(6, call._replace(deadline_ns=-1)),
        envelope.call(7, call._replace(trail=tuple(range(17)))),
        envelope.call(8, call._replace(method="\0ünknown")),
        envelope.cancel(luck.randrange(100)),
        envelope.credit(luck.randrange(100), 2**32 - 1),
        envelope.result(1, b"x"),
        envelope.chunk(1, 2**64 - 1, b"x"),
        envelope.hello(m.Hello(9, 9, 9, "codec")),
        envelope.error(1, m.Error(255, "a", "b")),
    ]
    body = bytearray(luck.choice(whole))
    if luck.random() < 0.5:
        for _ in range(luck.randint(1, 6)):
            body[luck.randrange(len(body))] = luck.randrange(256)
    if luck.random() < 0.2:
        body = body[: luck.randrange(len(body) + 1)]
    senders = [client, FOREIGN, "", "../../etc/passwd", "g" * 16, "\0" * 16, "x" * 255]
    return luck.choice(senders), bytes(body)


def test_garbage_on_the_request_ring_disturbs_no_call(bus, server, client):
    luck = random.Random(1)
    client._connection._numbers = itertools.count(10**6)  # what is forged below is not for calls that wait
    assert client.call("echo", 1) == 1
    instance, name = server._presence.instance, client.stats()["client"]
    publishers: dict[str, slipring.Publisher] = {}
    for number in range(1500):
        sender, body = garbage(luck, name, instance)
        publisher = publishers.get(sender) or publishers.setdefault(
            sender, bus.publisher("calc.calls", sender)
        )
        publisher.send(body)
        if number % 50 == 0:
            assert client.call("echo", number) == number
    assert client.call("echo", "alive") == "alive"
    assert server.stats()["malformed"] > 100
    assert bus.topics() == ["calc.calls", f"calc.reply.{name}", "calc.server"]


def test_garbage_on_the_reply_ring_disturbs_no_call(bus, server, client):
    luck = random.Random(2)
    client._connection._numbers = itertools.count(10**6)
    assert client.call("echo", 1) == 1
    reply = bus.publisher(f"calc.reply.{client.stats()['client']}")
    for number in range(1500):
        _, body = garbage(luck, "", 1)
        reply.send(body, timeout=0)
        if number % 10 == 0:
            assert client.call("echo", number) == number
    assert client.stats()["malformed"] > 100


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: [envelope.chunk(n, 2**63, b"x")],
        lambda n: [envelope.chunk(n, 4, b"xxx"), envelope.chunk(n, 4, b"xxx")],
        lambda n: [envelope.chunk(n, 9, b"xxx"), envelope.result(n, b"x")],
        lambda n: [envelope.part(n, b"\x01")],
        lambda n: [envelope.end(n)],
        lambda n: [envelope.cancel(n)],
        lambda n: [envelope.call(n, m.Call(0, 0, 0, 0, "x", b""))],
        lambda n: [envelope.error(n, m.Error(200, "Strange", "x"))],
    ],
)
def test_an_invalid_answer_fails_its_own_call_with_a_typed_error(
    bus, server, client, gate, answer, background
):
    waiting = background(client.call, "gate")
    gate.entered.acquire()
    (number,) = client._connection.replies._calls
    reply = bus.publisher(f"calc.reply.{client.stats()['client']}")
    for message in answer(number):
        reply.send(message, timeout=0)
    with pytest.raises((slipring.Corrupt, slipring.TooLarge, slipring.RemoteError)):
        waiting.result()
    gate.opened.set()
    assert client.call("echo", 1) == 1


def test_a_value_that_is_not_msgpack_is_corrupt(bus, server, client, gate, background):
    waiting = background(client.call, "gate")
    gate.entered.acquire()
    (number,) = client._connection.replies._calls
    bus.publisher(f"calc.reply.{client.stats()['client']}").send(envelope.result(number, b"\xc1"), timeout=0)
    with pytest.raises(slipring.Corrupt):
        waiting.result()


def test_garbage_on_the_presence_topic_is_not_a_server(bus):
    publisher = bus.publisher("calc.server", capacity=4096, slots=16, delivery="lossy", writers="one")
    with bus.client("calc") as client:
        for body in (b"", b"garbage", envelope.result(1, b""), envelope.hello(m.Hello(1, 1, 99, "msgpack"))):
            publisher.send(body)
            with pytest.raises(slipring.PeerGone):
                client.call("x")
    publisher.close()
    with bus.server("calc") as server:
        server.method(len)
        server.start()
        with bus.client("calc") as client:
            assert client.call("len", "ab") == 2


def test_a_server_of_another_version_is_refused_by_name(bus):
    with bus.server("calc") as server:
        inspector = slipring._native.Inspector(bus.path, "calc.server")
        hello = m.Hello(2, server._presence.instance, inspector.owner(0), "msgpack")
        inspector.close()
        server._presence._publisher.send(envelope.hello(hello))
        with bus.client("calc") as client, pytest.raises(slipring.PeerGone, match="version 2"):
            client.call("x")


def test_a_topic_of_another_kind_in_the_servers_place_is_named(bus):
    bus.create("calc.server", capacity="1MiB")
    with pytest.raises(slipring.TopicExists, match=r"calc\.server"):
        bus.server("calc")


def test_a_calls_topic_of_another_kind_is_replaced(bus):
    bus.create("calc.calls", capacity="64KiB", delivery="lossy")
    with bus.server("calc") as server:
        server.method(len)
        server.start()
        with bus.client("calc") as client:
            assert client.call("len", "ab") == 2


def test_a_removed_calls_topic_is_created_again_by_its_server(bus, server, client):
    assert client.call("echo", 1) == 1
    bus.remove("calc.calls")
    with pytest.raises((slipring.PeerGone, slipring.Timeout)):
        client.within(1.0).call("echo", 2)
    eventually(lambda: "calc.calls" in bus.topics(), "the server noticing")
    assert client.call("echo", 3) == 3


def test_a_removed_reply_topic_is_created_again_by_its_client(bus, server, client):
    assert client.call("echo", 1) == 1
    bus.remove(f"calc.reply.{client.stats()['client']}")
    with pytest.raises((slipring.PeerGone, slipring.Timeout)):
        client.within(1.0).call("echo", 2)
    assert client.call("echo", 3) == 3


def test_a_client_with_another_codec_is_refused_by_name(bus, server):
    with bus.client("calc", codec="raw") as client, pytest.raises(slipring.BadArgument) as caught:
        client.call("echo", b"x")
    assert caught.value.argument == "codec"


def test_raw_bytes_pass_as_they_are(bus):
    with bus.server("calc", codec="raw") as server:
        server.method(lambda body: body[::-1], name="reverse")
        server.method(lambda body: memoryview(bytearray(body)), name="buffer")
        server.method(lambda body: "text", name="text")
        server.start()
        with bus.client("calc", codec="raw") as client:
            assert client.call("reverse", b"abc") == b"cba"
            assert client.call("buffer", bytearray(b"abc")) == b"abc"
            assert client.call("reverse") == b""
            with pytest.raises(TypeError):
                client.call("reverse", "text")
            with pytest.raises(TypeError):
                client.call("reverse", b"a", b"b")
            with pytest.raises(slipring.RemoteError, match="not str"):
                client.call("text", b"")


def test_a_codec_of_the_program_replaces_msgpack(bus):
    import json

    class Json:
        name = "json"

        def encode_arguments(self, args, kwargs):
            return json.dumps([args, kwargs]).encode()

        def decode_arguments(self, data):
            return json.loads(bytes(data))

        def encode_value(self, value):
            return json.dumps(value).encode()

        def decode_value(self, data):
            return json.loads(bytes(data))

    with bus.server("calc", codec=Json()) as server:
        server.method(lambda a, b: [a, b], name="pair")
        server.start()
        with bus.client("calc", codec=Json()) as client:
            assert client.call("pair", 1, b={"x": None}) == [1, {"x": None}]
    with pytest.raises(TypeError):
        bus.client("calc", codec=object())
