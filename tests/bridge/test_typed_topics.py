# SPDX-License-Identifier: Apache-2.0
"""Typed topics over a bridge and through mirrors. Schemas from the network are checked."""

import base64
import pickle
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
import zmq

import slipring
from slipring._bus.schema.declare import declare
from slipring.bridge import Mirror, schemas, wire
from slipring.bridge.transfer import pieces
from support.waiting import WATCHDOG_S, eventually


@dataclass
class Imu:
    t: float
    ok: bool = True


@dataclass
class OtherType:
    t: int
    ok: bool = True


IMU = declare(Imu).to_bytes()
SMALL = {"capacity": "64KiB"}


@pytest.fixture
def far(bus_root):
    with slipring.Bus("far", root=bus_root) as bus:
        yield bus


@pytest.fixture
def start(state):
    started = []

    def begin(source, target, topics):
        mirror = Mirror(source, target, topics, source_state=state, target_state=state)
        started.append(mirror)
        return mirror.start()

    yield begin
    for mirror in started:
        mirror.close()


def test_objects_cross_in_both_directions_as_bytes(serve, connect, bus):
    remote = connect(serve().address)
    pub, here = remote.publisher("imu", schema=Imu, **SMALL), bus.subscriber("imu", schema=Imu)
    there = remote.subscriber("imu", schema=Imu)
    pub.send(Imu(1.0))
    bus.publisher("imu", schema=Imu).send(Imu(2.0))
    assert [message.value for message in here.recv_many()] == [Imu(1.0), Imu(2.0)]
    found = [there.recv(WATCHDOG_S) for _ in range(2)]
    assert [message.value for message in found] == [Imu(1.0), Imu(2.0)]
    assert bus.schema("imu") == remote.schema("imu") == declare(Imu)
    assert pickle.loads(pickle.dumps(found[0])).value == Imu(1.0)


def test_a_server_passes_bodies_on_that_do_not_fit_the_schema(serve, connect, bus):
    remote = connect(serve().address)
    pub, sub = remote.publisher("imu", schema=Imu, **SMALL), remote.subscriber("imu")
    pub.send_raw(b"bad")
    bus.publisher("imu").send_raw(b"worse")
    pub.send(Imu(1.0))
    bad, worse, good = (sub.recv(WATCHDOG_S) for _ in range(3))
    assert (bad.body, worse.body, good.value) == (b"bad", b"worse", {"t": 1.0, "ok": True})
    with pytest.raises(slipring.Undecodable, match="topic 'imu', sequence 1"):
        worse.value  # noqa: B018 - the property decodes


def test_values_continue_after_the_connection_is_cut(serve, connect, proxy, bus):
    way = proxy(serve().address)
    remote = connect(way.address)
    pub = remote.publisher("imu", schema=Imu, delivery="reliable", **SMALL)
    sub, early = remote.subscriber("imu", schema=Imu), remote.subscriber("later", schema=Imu)
    misfit = remote.subscriber("later", schema=OtherType)
    for number in range(5):
        pub.send(Imu(float(number)))
        way.cut()
    assert [sub.recv(WATCHDOG_S).value.t for _ in range(5)] == [0.0, 1.0, 2.0, 3.0, 4.0]
    bus.publisher("later", schema=Imu, **SMALL).send(Imu(7.0))
    way.cut()
    assert early.recv(WATCHDOG_S).value == Imu(7.0)
    with pytest.raises(slipring.SchemaMismatch, match="topic 'later': field t"):
        misfit.recv(WATCHDOG_S)


def test_a_subscriber_that_does_not_fit_leaves_nothing_at_the_server(serve, connect, bus):
    remote = connect(serve().address)
    misfit = remote.subscriber("imu", cursor="log", schema=OtherType)
    pub = bus.publisher("imu", schema=Imu, delivery="reliable", capacity=4096)
    with pytest.raises(slipring.SchemaMismatch, match="field t") as refused:
        misfit.recv(WATCHDOG_S)
    assert (refused.value.field, refused.value.found, refused.value.asked) == ("t", "float64", "int64")
    stats = bus.stats("imu")
    assert stats["readers"] == [] and stats["cursors"] == []
    pub.send_many([Imu(1.0)] * 1000, timeout=WATCHDOG_S)


def request(address: str, **content) -> dict:
    """Send one request as a client of its own, and return the reply."""
    context = zmq.Context()
    with context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.connect(f"tcp://127.0.0.1:{urlsplit(address).port}")
        greeting = {"bus": "test"}
        socket.send_multipart(
            wire.with_json(wire.HELLO, wire.MAGIC, wire.VERSION, b"c" * 16, content=greeting)
        )
        for frames in pieces(wire.with_json(wire.REQUEST, 1, content=content)):
            socket.send_multipart(frames)
        while True:
            assert socket.poll(10_000), "the server does not answer"
            message = wire.decode(socket.recv_multipart())
            if message.kind == wire.REPLY:
                break
    context.term()
    return message.content


BAD = {
    "a number": 3,
    "not base64": "?" * 40,
    "not a schema": base64.b64encode(b"null").decode(),
    "half a schema": base64.b64encode(IMU[: len(IMU) // 2]).decode(),
    "not canonical": base64.b64encode(IMU + b" ").decode(),
    "nothing": "",
    "deeply nested": base64.b64encode(b"[" * 100_000).decode(),
    "more than a mebibyte": base64.b64encode(b" " * ((1 << 20) + 1)).decode(),
}


@pytest.mark.parametrize("schema", BAD.values(), ids=BAD)
def test_a_client_that_sends_an_invalid_schema_is_refused_and_nothing_is_made(serve, connect, bus, schema):
    served = serve()
    topic = {"topic": "t", "settings": {"schema": schema}}
    opening = {"handle": 1, "sender": "", "origin": "client:1:1", **topic}
    subscribing = {"handle": 2, "topic": "t", "start": "new", "conflate": False, "waited": False}
    for content in (
        {"request": "create", "exist_ok": True, **topic},
        {"request": "publisher", **opening},
        {"request": "subscribe", "messages": 1, "bytes": 1, "schema": schema, **subscribing},
    ):
        reply = request(served.address, **content)
        assert (reply["error"], reply["argument"]) == ("BadArgument", "schema"), reply
        assert len(reply["message"]) <= 2000
    assert bus.topics() == [] and served.process.alive


@pytest.mark.parametrize("schema", BAD.values(), ids=BAD)
def test_an_invalid_schema_from_a_server_is_corrupt_and_names_the_topic(
    processes, connect, state, bus, schema
):
    child = processes.start(
        """
        from slipring.bridge import Server, schemas
        bus.create("imu", capacity=4096)
        schema = hear()
        schemas.to_text = lambda data: schema
        with Server(bus, "tcp://127.0.0.1:0", state=state) as server:
            say(server.address)
            server.run()
        """,
        state=state,
    )
    child.say(schema)
    remote = connect(child.hear())
    waiting = remote.subscriber("later")
    for use in (remote.schema, remote.publisher, remote.subscriber):
        with pytest.raises(slipring.Corrupt, match="topic 'imu'"):
            use("imu")
    bus.publisher("later", **SMALL).send(b"x")
    for _ in range(2):
        with pytest.raises(slipring.Corrupt, match="topic 'later'"):
            waiting.recv(WATCHDOG_S)
    assert remote.stats("imu")["readers"] == []


def test_a_client_that_knows_no_schemas_works_with_bytes(serve, bus):
    bus.create("imu", schema=Imu, **SMALL)
    served = serve()
    opening = {"handle": 1, "topic": "imu", "sender": "", "origin": "client:1:1", "settings": {}}
    assert request(served.address, request="publisher", **opening)["value"]["generation"]


def test_a_server_that_knows_no_schemas_is_refused_by_name_or_serves_untyped_topics(
    processes, connect, bus, start, far, state
):
    child = processes.start(
        """
        from slipring.bridge import Server
        from slipring.bridge.server import requests

        class Old(requests.Requests):
            def run(self, session, content):
                value = super().run(session, content)
                return {k: v for k, v in value.items() if k != "schema"} if isinstance(value, dict) else value

        requests.Requests = Old
        from slipring.bridge.server import server
        server.Requests = Old
        with Server(bus, "tcp://127.0.0.1:0", state=state) as exported:
            del exported._welcome["schemas"]
            say(exported.address)
            exported.run()
        """,
        state=state + "/old",
    )
    remote = connect(child.hear())
    for use in (remote.create, remote.publisher):
        with pytest.raises(slipring.BadArgument, match="older and knows no schemas"):
            use("imu", schema=Imu)
    pub, sub = remote.publisher("raw", delivery="reliable", **SMALL), remote.subscriber("raw")
    pub.send(b"x")
    assert sub.recv(WATCHDOG_S).value == b"x" and remote.schema("raw") is None
    with pytest.raises(slipring.TopicNotFound):
        remote.schema("missing")
    with pytest.raises(slipring.SchemaMismatch, match="topic 'raw': the topic has no schema"):
        remote.subscriber("raw", schema=Imu)
    start(remote, far, ["raw"])
    copy = far.subscriber("raw", start="oldest")
    assert copy.recv(WATCHDOG_S).body == b"x"


# Mirrors


@pytest.mark.parametrize("ways", ["here", "to there", "from there"])
def test_a_mirror_makes_its_target_with_the_schema_of_the_source(serve, connect, bus, far, start, ways):
    source, target = bus, far
    if ways == "to there":
        source, target = far, connect(serve().address)
    elif ways == "from there":
        source = connect(serve().address)
    pub = source.publisher("imu", "gyro", schema=Imu, **SMALL)
    pub.send(Imu(1.0), type="v1")
    pub.send_raw(b"bad")
    pub.send(Imu(2.0))
    start(source, target, ["imu:copy"])
    eventually(lambda: "copy" in target.topics(), "the target")
    assert target.schema("copy") == declare(Imu)
    sub = target.subscriber("copy", start="oldest", schema=Imu)
    first, bad, last = (sub.recv(WATCHDOG_S) for _ in range(3))
    assert (first.value, first.sender, first.type, last.value) == (Imu(1.0), "gyro", "v1", Imu(2.0))
    assert bad.body == b"bad"


@pytest.mark.parametrize("remote", [False, True], ids=["here", "there"])
def test_a_mirror_refuses_a_target_with_another_schema_by_name(serve, connect, bus, far, start, remote):
    target = bus
    far.publisher("imu", schema=Imu, **SMALL).send(Imu(1.0))
    far.create("raw", **SMALL)
    bus.create("imu", schema=OtherType, **SMALL)
    bus.create("raw", schema=Imu, **SMALL)
    bus.create("plain", **SMALL)
    if remote:
        target = connect(serve().address)
    for topics, named, problem in (
        ("imu", "topic 'imu'", "field t is int64 in the topic and asked for as float64"),
        ("raw", "topic 'raw'", "the source has no schema"),
        ("imu:plain", "topic 'plain'", "the topic has no schema"),
    ):
        with pytest.raises(slipring.SchemaMismatch, match=f"{named}.*{problem}"):
            start(far, target, [topics])
    assert all(bus.stats(topic)["published"] == 0 for topic in ("imu", "raw", "plain"))


def test_a_mirror_of_a_pattern_refuses_one_topic_and_copies_the_others(bus, far, start):
    mirror = start(bus, far, ["cam.*"])
    far.create("cam.a", schema=OtherType, **SMALL)
    for name in "ab":
        bus.publisher(f"cam.{name}", schema=Imu, **SMALL).send(Imu(1.0))
    eventually(lambda: "cam.b" in far.topics(), "the target")
    assert far.subscriber("cam.b", start="oldest", schema=Imu).recv(WATCHDOG_S).value == Imu(1.0)

    def refused():
        return [one["problem"] for one in mirror.status() if one["state"] == "refused"]

    assert "topic 'cam.a': field t" in eventually(refused, "the refusal")[0]


def test_the_text_of_a_schema_is_read_as_it_was_written():
    assert schemas.stored(schemas.to_text(IMU), "imu") == IMU
    assert schemas.asked(schemas.to_text(IMU)) == declare(Imu)
    assert schemas.to_text(None) is schemas.asked(None) is schemas.stored(None, "imu") is None
