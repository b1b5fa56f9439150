# SPDX-License-Identifier: Apache-2.0
"""A client in Java, written from docs/spec/calls.md alone, calls servers in Python."""

import random
import threading
from pathlib import Path

import pytest

import slipring
from support.waiting import eventually

SERVICE = """
import threading
server = bus.server("calc", workers=4)
def add(a, b=0):
    return a + b
def hang():
    say("hanging")
    threading.Event().wait()
def die():
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
for function in (add, hang, die):
    server.method(function)
server.start()
say("serving")
hear()
server.close()
"""
RAISED, UNKNOWN_METHOD, BAD_ARGUMENTS, TOO_LARGE = 1, 2, 3, 4
PATTERN = bytes(k * 7 & 0xFF for k in range(1 << 20))


class Luckless(Exception):
    pass


@pytest.fixture
def calc(bus):
    """Start a server. Setting the event ends the calls of "slow"."""
    release = threading.Event()
    server = bus.server("calc", workers=4)

    def fail():
        raise Luckless("it's grün")

    def parts(count, size):
        yield from (PATTERN[:size] for _ in range(count))

    methods = {
        "add": lambda a, b=0: a + b,
        "echo": lambda value: value,
        "size": lambda value: [len(value), value == PATTERN[: len(value)]],
        "pattern": lambda size: PATTERN[:size],
        "kinds": lambda: [None, True, False, -1, 1 << 40, 0.5, "grün", b"\0\xff", [[]], {"a": {"b": 1}}],
        "huge": lambda: bytes(65 << 20),
        "fail": fail,
        "slow": lambda: release.wait(60),
        "parts": parts,
    }
    for name, function in methods.items():
        server.method(function, name=name)
    server.start()
    yield release
    release.set()
    server.close()


def files_of_clients(bus) -> list[Path]:
    return list(Path(bus.path).glob("calc.reply.*"))


@pytest.mark.parametrize("language", ["java", "java+futex"])
def test_a_java_client_calls_a_python_server(peers, calc, language):
    client = peers.client(language, "calc")
    assert client.ask("call 30000 add 1 b=2") == ("result", 3)
    assert client.ask("call 30000 echo grün") == ("result", "grün")
    assert client.ask("call 30000 kinds") == (
        "result",
        [None, True, False, -1, 1 << 40, 0.5, "grün", b"\0\xff", [[]], {"a": {"b": 1}}],
    )
    client.say("close")
    client.join()


def test_values_larger_than_a_message_of_the_ring_arrive_whole(peers, calc):
    client = peers.client("java+futex", "calc")
    for size in (0, 1, 65_535, 65_536, 65_537, 300_000, 1 << 20):
        assert client.ask(f"call 30000 pattern {size}") == ("result", PATTERN[:size])
        assert client.ask(f"call 30000 size bytes:{size}") == ("result", [size, True])


def test_every_kind_of_failure_reaches_the_java_client_with_its_reason(peers, calc):
    client = peers.client("java+futex", "calc")
    assert client.ask("call 30000 fail") == ("error", RAISED, "Luckless", "it's grün")
    assert client.ask("call 30000 no_such_method")[:2] == ("error", UNKNOWN_METHOD)
    assert client.ask("call 30000 add 1 2 3 4")[:2] == ("error", BAD_ARGUMENTS)
    assert client.ask("call 30000 add c=1")[:2] == ("error", BAD_ARGUMENTS)
    assert client.ask("call 30000 huge")[:2] == ("error", TOO_LARGE)
    assert client.ask("call 30000 parts 1 1")[:2] == (
        "error",
        BAD_ARGUMENTS,
    )  # a stream cannot be called like a plain method
    assert client.ask("call 30000 add 1") == ("result", 1)


def test_a_late_answer_never_reaches_another_call(peers, calc):
    client = peers.client("java+futex", "calc")
    for number in range(20):
        assert client.ask("call 1 slow") == ("timeout",)
        calc.set()
        assert client.ask(f"call 30000 add {number}") == ("result", number)
        calc.clear()


def test_an_answer_to_a_finished_call_is_dropped(bus, peers, calc):
    """The answer is sent again, before another call and while it waits."""
    client = peers.client("java+futex", "calc")
    assert client.ask("call 30000 add 1") == ("result", 1)
    [ring] = [path for path in files_of_clients(bus) if path.suffix == ".ring"]
    with bus.subscriber(ring.stem, start="oldest", lossy=True) as tap, bus.publisher(ring.stem) as rogue:
        assert client.ask("call 30000 add 1000") == ("result", 1000)
        old = tap.recv_many(100)[-1].body
        for number in range(20):
            rogue.send(old, timeout=60)
            assert client.ask(f"call 30000 add {number}") == ("result", number)
        client.say("call 30000 slow")
        rogue.send(old, timeout=60)
        calc.set()
        assert client.hear() == ("result", True)


def test_a_stream_arrives_in_order_by_credit(peers, calc):
    client = peers.client("java+futex", "calc")
    assert client.ask("stream 30000 parts 0 0") == ("result",)
    assert client.ask("stream 30000 parts 100 10") == ("result", *[PATTERN[:10]] * 100)
    assert client.ask("stream 30000 parts 3 200000") == ("result", *[PATTERN[:200_000]] * 3)
    assert client.ask("stream 30000 add 1 1") == ("result", 2)
    assert client.ask("stream 30000 fail")[:2] == ("error", RAISED)


def test_each_of_many_clients_in_two_languages_gets_its_own_answers(bus, peers, calc, background):
    clients = [peers.client(language, "calc") for language in ("java+futex",) * 3]

    def many(ask, salt: int) -> None:
        for number in range(200):
            assert ask(number, salt) == number + salt

    def python(salt: int) -> None:
        with bus.client("calc", timeout=60) as client:
            many(lambda number, more: client.call("add", number, more), salt)

    asks = [lambda n, m, c=client: c.ask(f"call 60000 add {n} {m}")[1] for client in clients]
    started = [background(many, ask, 1000 * k) for k, ask in enumerate(asks)]
    started += [background(python, 10**6 * k) for k in (1, 2)]
    for call in started:
        call.result()


def test_a_killed_server_fails_the_java_client_and_the_next_one_answers(peers, processes):
    client = peers.client("java+futex", "calc")
    assert client.ask("call 30000 add 1") == ("absent",)
    first = processes.start(SERVICE)
    first.expect("serving")
    assert client.ask("call 30000 add 1") == ("result", 1)
    client.say("call 60000 hang")
    first.expect("hanging")
    first.kill()
    assert client.hear() == ("gone",)
    assert client.ask("call 30000 add 1") == ("absent",)
    second = processes.start(SERVICE)
    second.expect("serving")
    assert client.ask("call 30000 add 2") == ("result", 2)
    assert client.ask("call 60000 die") == ("gone",)
    third = processes.start(SERVICE)
    third.expect("serving")
    assert client.ask("call 30000 add 3") == ("result", 3)
    third.say("close")
    third.join()
    assert client.ask("call 30000 add 1") == ("absent",)


def test_a_killed_java_client_leaves_nothing_and_a_closed_one_neither(bus, peers, calc):
    for end in ("kill", "close"):
        client = peers.client("java", "calc")
        assert client.ask("call 30000 add 1") == ("result", 1)
        assert len(files_of_clients(bus)) == 2
        if end == "kill":
            client.kill()
            with bus.client("calc", timeout=60) as other:
                assert other.call("add", 1) == 1
        else:
            client.say("close")
            client.join()
        eventually(lambda: not files_of_clients(bus), "the reply topic going")
    assert bus.doctor() == []


def test_invalid_answers_are_dropped_by_the_java_client(bus, peers, calc):
    """Cut, damaged and foreign envelopes arrive on the reply topic before and between real answers."""
    client = peers.client("java+futex", "calc")
    assert client.ask("call 30000 add 1") == ("result", 1)
    [ring] = [path for path in files_of_clients(bus) if path.suffix == ".ring"]
    topic, dice = ring.stem, random.Random(7)
    with bus.subscriber(topic, start="oldest", lossy=True) as tap, bus.publisher(topic) as rogue:
        assert client.ask("call 30000 add 20 22") == ("result", 42)
        answer = tap.recv_many(100)[-1].body  # of a finished call: it must be dropped in any form
        for number in range(300):
            body = bytearray(answer[: dice.randrange(len(answer) + 1)] if number % 2 else answer)
            for _ in range(dice.randrange(3)):
                if body:
                    body[dice.randrange(len(body))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF))
            rogue.send(bytes(body), timeout=60)
            if number % 50 == 49:
                answered = client.ask(f"call 30000 pattern {number}")
                assert answered[0] in ("result", "malformed", "error")
        rogue.send(dice.randbytes(1000), timeout=60)
    assert client.ask("call 30000 pattern 9") == ("result", PATTERN[:9])


def test_a_call_without_a_server_reports_absent(bus, peers):
    assert peers.client("java", "nobody").ask("call 1000 add 1") == ("absent",)
    with pytest.raises(slipring.TopicNotFound):
        bus.stats("nobody.server")
