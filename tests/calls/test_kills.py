# SPDX-License-Identifier: Apache-2.0
"""Servers and clients killed at named places and at random moments (promise 9 for calls).

A place is a function of the package: a child process wraps it and kills itself when it is entered, or left,
for the n-th time.
"""

import random
import time

import pytest

import slipring
from support.waiting import eventually

DIE = """
    import importlib, os, signal

    def die_at(module, owner, function, when, count):
        home = importlib.import_module(f"slipring._bus.{module}")
        if owner:
            home = getattr(home, owner)
        plain, left = getattr(home, function), [count]

        def deadly(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0 and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            value = plain(*args, **kwargs)
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return value

        setattr(home, function, deadly)

    die_at(*place)
"""
SERVER = """
    server = bus.server("calc", workers=2)
    server.method(lambda value: value, name="echo")
    server.method(lambda size: bytes(size), name="big")

    @server.method
    def count(n, size):
        for _ in range(n):
            yield bytes(size)

    server.start()
    say("ready")
"""
CLIENT = """
    client = bus.client("calc", timeout=60, capacity="64KiB")
    while True:
        assert client.call("echo", 1) == 1
        assert client.call("big", 100_000) == bytes(100_000)
        assert list(client.stream("count", 30, 100)) == [bytes(100)] * 30
"""
SERVER_PLACES = [
    ("calls.server.presence", "Presence", "announce", "before", 1),
    ("calls.server.presence", "Presence", "announce", "after", 1),
    ("bus", "Bus", "create", "before", 1),
    ("bus", "Bus", "create", "after", 1),
    ("calls.server.dispatcher", "Dispatcher", "_accept", "before", 3),
    ("calls.server.dispatcher", "Dispatcher", "_meet", "before", 1),
    ("calls.server.dispatcher", "Dispatcher", "_meet", "after", 1),
    ("calls.server.dispatcher", "", "invoke", "before", 4),
    ("calls.server.client_replies", "ClientReplies", "send", "before", 5),
    ("calls.server.client_replies", "ClientReplies", "send", "after", 5),
    ("calls.server.client_replies", "ClientReplies", "send", "after", 40),
    ("calls.server.server_stream", "ServerStream", "_load", "before", 3),
    ("calls.server.server_stream", "ServerStream", "grant", "after", 1),
]
CLIENT_PLACES = [
    ("calls.client.connection", "Connection", "_attach", "before", 1),
    ("bus", "Bus", "publisher", "after", 1),
    ("bus", "Bus", "create", "before", 1),
    ("bus", "Bus", "create", "after", 1),
    ("calls.client.connection", "Connection", "_attach", "after", 1),
    ("calls.client.connection", "Connection", "_send", "before", 4),
    ("calls.client.connection", "Connection", "_send", "after", 4),
    ("calls.client.replies", "Replies", "_deliver", "before", 9),
    ("calls.client.replies", "Replies", "pay", "after", 1),
]


def names(places):
    return ["-".join(str(part) for part in place) for place in places]


def use(client) -> None:
    assert client.call("echo", "after") == "after"
    assert len(client.call("big", 500_000)) == 500_000
    assert sum(map(len, client.stream("count", 50, 1000))) == 50_000


@pytest.mark.parametrize("place", SERVER_PLACES, ids=names(SERVER_PLACES))
def test_a_server_killed_at_a_named_place_fails_its_callers_and_the_next_one_serves(bus, processes, place):
    victim = processes.start(DIE + SERVER + "    hear()\n", place=place)
    with bus.client("calc", timeout=60, capacity="64KiB") as client:
        with pytest.raises(slipring.PeerGone):
            if not client.wait_for_server(0):
                eventually(lambda: not victim.alive or client.wait_for_server(0), "the server's start or end")
            while True:
                use(client)
        victim.join(code=-9)
        heir = processes.start(SERVER + "    hear()\n    server.close()\n")
        heir.expect("ready")
        use(client)
        heir.say("close")
        heir.join()
    assert bus.topics() == []


@pytest.mark.parametrize("place", CLIENT_PLACES, ids=names(CLIENT_PLACES))
def test_a_client_killed_at_a_named_place_disturbs_no_other_and_leaves_nothing(bus, processes, place):
    server = processes.start(SERVER + "    hear()\n    server.close()\n")
    server.expect("ready")
    victim = processes.start(DIE + CLIENT, place=place)
    with bus.client("calc", timeout=60) as client:
        while victim.alive:
            use(client)
        victim.join(code=-9)
        use(client)
    with bus.client("calc", timeout=60) as client:
        use(client)
    assert [topic for topic in bus.topics() if ".reply." in topic] == []
    server.say("close")
    server.join()
    assert bus.topics() == []


def test_kills_at_random_moments_mix_up_no_answers_and_leave_nothing(bus, processes):
    luck = random.Random(5)
    storm_ends = time.monotonic() + 12
    serving = SERVER + "    hear()\n    server.close()\n"
    calling = """
        import random
        luck = random.Random(me)
        client = bus.client("calc", timeout=20.0)
        answered = failed = 0
        say("ready")
        while True:
            asked = [me, answered, failed, luck.randbytes(luck.randrange(3000))]
            try:
                if luck.random() < 0.1:
                    parts = list(client.stream("count", 40, 500))
                    assert parts == [bytes(500)] * 40, parts
                else:
                    answer = client.call("echo", asked)
                    assert answer == asked, (asked, answer)
                answered += 1
            except slipring.PeerGone:
                failed += 1
            if answered % 50 == 0 or failed % 50 == 49:
                say(answered, failed)
    """
    server, callers, kills = processes.start(serving), [], 0
    server.expect("ready")
    number = 0
    totals: dict[int, tuple[int, int]] = {}
    while time.monotonic() < storm_ends or kills <= 3:
        while len(callers) < 3:
            number += 1
            callers.append((number, processes.start(calling, me=number)))
            callers[-1][1].expect("ready")
        victim = luck.random()
        name, caller = luck.choice(callers)
        totals[name] = caller.hear()  # it makes progress, or reports an error
        if victim < 0.4:
            server.kill()
            server = processes.start(serving)
            server.expect("ready")
        elif victim < 0.7:
            caller.kill()
            callers.remove((name, caller))
        kills += victim < 0.7
    for name, caller in callers:
        assert caller.alive, caller.stderr
        totals[name] = caller.hear()
        caller.kill()
    assert kills > 3
    assert sum(answered for answered, _ in totals.values()) > 100
    with bus.client("calc", timeout=60) as client:
        use(client)
    eventually(lambda: not [topic for topic in bus.topics() if ".reply." in topic], "the leftovers going")
    server.say("close")
    server.join()
    assert bus.topics() == []
    assert bus.doctor() == []
