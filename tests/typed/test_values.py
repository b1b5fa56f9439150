# SPDX-License-Identifier: Apache-2.0
"""Values on a typed topic: objects in, objects out, and errors that name topic, sequence and field."""

import asyncio
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import slipring
from slipring._bus.schema.declare import declare


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class View:
    acc: list[float]
    note: str = "none"


STILL = Imu(0.5, (0.1, 0.2, 9.8))


@pytest.fixture
def topic(bus):
    return bus.publisher("imu", schema=Imu), bus.subscriber("imu", schema=Imu)


def test_objects_arrive_as_the_declared_class(topic):
    pub, sub = topic
    assert pub.send(STILL, type="imu.v1") == 0
    message = sub.recv(0)
    assert message.value == STILL and isinstance(message.value, Imu)
    assert message.value is message.value, "it is decoded once"
    assert (message.type, message.seq, message.topic) == ("imu.v1", 0, "imu")
    assert type(message.body) is bytes and message.body.startswith(b"\x83\xa1t")


def test_a_subscriber_without_a_class_gets_plain_values(bus, topic):
    topic[0].send(STILL)
    message = bus.subscriber("imu", start="oldest").recv(0)
    assert message.value == {"t": 0.5, "acc": [0.1, 0.2, 9.8], "ok": True}


def test_a_dict_is_accepted_for_a_structure_and_a_publisher_needs_no_class(bus, topic):
    pub = bus.publisher("imu")
    pub.send({"t": 1.0, "acc": [1.0, 2.0, 3.0], "ok": False})
    assert topic[1].recv(0).value == Imu(1.0, (1.0, 2.0, 3.0), False)


def test_an_object_sent_without_its_class_is_refused_with_the_remedy(bus, topic):
    with pytest.raises(slipring.BadArgument, match="must be a dict") as caught:
        bus.publisher("imu").send(STILL)
    assert "schema=" in caught.value.__notes__[0]


def test_a_view_has_fewer_fields_and_more_with_defaults(bus, topic):
    view = bus.subscriber("imu", schema=View)
    topic[0].send(STILL)
    assert view.recv(0).value == View([0.1, 0.2, 9.8], "none")


def test_a_view_that_lacks_a_value_is_refused_when_it_subscribes(bus, topic):
    @dataclass
    class Needs:
        acc: list[float]
        speed: float

    with pytest.raises(slipring.SchemaMismatch, match="speed") as caught:
        bus.subscriber("imu", schema=Needs)
    assert caught.value.field == "speed"
    assert len(bus.stats("imu")["readers"]) == 1


@pytest.mark.parametrize(
    "value, named",
    [
        (Imu("x", (1.0, 2.0, 3.0)), "t"),
        (Imu(1.0, (1.0, 2.0)), "acc"),
        (Imu(1.0, (1.0, 2.0, None)), "acc[2]"),
        ({"t": 1.0, "acc": [1.0, 2.0, 3.0], "ok": True, "more": 1}, "more"),
        ({"t": 1.0}, "acc"),
        (3, "value"),
        (b"bytes", "value"),
        (View([1.0]), "value"),
    ],
)
def test_a_wrong_object_raises_before_anything_is_claimed_and_names_the_field(topic, value, named):
    pub, sub = topic
    for send in (lambda: pub.send(value), lambda: pub.send_many([STILL, value])):
        with pytest.raises(slipring.BadArgument) as caught:
            send()
        assert caught.value.argument == named
        assert "topic 'imu'" in str(caught.value) and named in str(caught.value)
    assert pub.send(STILL) == 0, "no sequence was claimed"
    assert sub.recv(0).seq == 0


def test_send_many_names_the_message_that_is_wrong(topic):
    with pytest.raises(slipring.BadArgument, match=r"topic 'imu': message 2: t='x'"):
        topic[0].send_many([STILL, STILL, Imu("x", (1.0, 2.0, 3.0))])
    with pytest.raises(TypeError, match=r"use send\(\) for one"):
        topic[0].send_many({"t": 1.0})


def test_bytes_go_through_send_raw_only_and_a_bad_body_does_not_stop_the_next(topic):
    pub, sub = topic
    pub.send(STILL)
    pub.send_raw(b"\x83garbage")
    pub.send(STILL)
    first, bad, third = sub.recv_many(9)
    assert first.value == third.value == STILL
    for _ in range(2):
        with pytest.raises(slipring.Undecodable, match="topic 'imu', sequence 1") as caught:
            bad.value  # noqa: B018 - the property decodes
        assert (caught.value.topic, caught.value.seq) == ("imu", 1)
    assert bad.body == b"\x83garbage"


def test_an_undecodable_field_is_named(topic):
    pub, sub = topic
    import msgspec

    pub.send_raw(msgspec.msgpack.encode({"t": 1.0, "acc": [1.0, "x", 2.0], "ok": True}))
    with pytest.raises(slipring.Undecodable) as caught:
        sub.recv(0).value  # noqa: B018
    assert "acc" in caught.value.field and "acc" in str(caught.value)


def test_a_class_that_raises_is_undecodable_and_the_next_message_is_read(bus, topic):
    @dataclass
    class Strict:
        t: float

        def __post_init__(self):
            if self.t < 0:
                raise RuntimeError("time runs backwards")

    strict = bus.subscriber("imu", schema=Strict)
    topic[0].send_many([Imu(-1.0, (1.0, 2.0, 3.0)), STILL])
    with pytest.raises(slipring.Undecodable, match=r"topic 'imu', sequence 0.*backwards"):
        strict.recv(0).value  # noqa: B018
    assert strict.recv(0).value == Strict(0.5)


def test_a_recursive_class_is_refused_by_field(bus):
    with pytest.raises(slipring.BadArgument, match="children"):
        bus.create("tree", schema=Node)


@dataclass
class Node:
    children: list["Node"] = field(default_factory=list)


def test_fields_named_like_columns_of_the_message_are_refused(bus):
    @dataclass
    class Clash:
        offset: int

    with pytest.raises(slipring.BadArgument, match="offset"):
        bus.create("clash", schema=Clash)


@dataclass
class Finite:
    x: float


def test_nan_is_refused_where_the_encoding_has_none(bus):
    pub = bus.publisher("json", schema=Finite, encoding="json")
    with pytest.raises(slipring.BadArgument, match="x=nan"):
        pub.send(Finite(float("nan")))
    binary = bus.publisher("msgpack", schema=Finite)
    sub = bus.subscriber("msgpack")
    binary.send(Finite(float("nan")))
    value = sub.recv(0).value["x"]
    assert value != value, "it is NaN"


def test_a_view_in_place_and_recv_into_have_values(topic):
    pub, sub = topic
    pub.send_many([STILL, STILL])
    with sub.view(0) as message:
        assert message.value == STILL
    buffer = bytearray(200)
    assert sub.recv_into(buffer, 0).value == STILL


def test_a_message_is_pickled_with_its_class(topic, bus):
    pub, sub = topic
    pub.send_many([STILL] * 3)
    plain = bus.subscriber("imu", start="oldest").recv(0)
    decoded, fresh = sub.recv_many(2)
    assert decoded.value == STILL
    for message, value in (
        (decoded, STILL),
        (fresh, STILL),
        (plain, {"t": 0.5, "acc": [0.1, 0.2, 9.8], "ok": True}),
    ):
        copy = pickle.loads(pickle.dumps(message))
        assert copy == message and copy.value == value


def test_another_process_gets_the_value_of_a_pickled_message(topic, processes):
    topic[0].send(STILL)
    child = processes.start(
        """
        import pickle, sys
        sys.path.insert(0, tests)
        from typed.test_values import Imu
        message = pickle.loads(hear())
        say(message.value == Imu(0.5, (0.1, 0.2, 9.8)), message.seq)
    """,
        tests=str(Path(__file__).parents[1]),
    )
    child.say(pickle.dumps(topic[1].recv(0)))
    child.expect((True, 0))
    child.join()


def test_asyncio_receives_values(topic):
    pub, sub = topic

    async def main():
        pub.send_many([STILL, STILL])
        assert (await sub.arecv(1)).value == STILL
        async for message in sub:
            assert message.value == STILL
            break

    asyncio.run(main())


def test_a_member_sends_and_receives_values(bus):
    ann, bob = bus.join("chat", "ann", schema=Imu), bus.join("chat", "bob", schema=Imu)
    ann.send(STILL)
    assert bob.recv(0).value == STILL


def test_every_way_to_declare_a_class_carries_its_objects(bus):
    from schema import samples

    for number, declared in enumerate(
        (samples.in_a_dataclass, samples.in_a_struct, samples.in_a_typed_dict, samples.in_a_named_tuple)
    ):
        cls, point = declared()
        pub, sub = bus.publisher(f"t{number}", schema=cls), bus.subscriber(f"t{number}", schema=cls)
        value = cls(
            t=0.5, acc=(1.0, 2.0, 3.0), at=point(x=1.5, y=2.5), tags=["a"], limits={"low": 1}, note=None
        )
        pub.send(value)
        found = sub.recv(0).value
        assert found == value or dict(found) == {**value, "acc": found["acc"]}


PROGRAM = """
from dataclasses import dataclass
import slipring

@dataclass
class Imu:
    t: float

bus = slipring.Bus("robot")
pub = bus.publisher("imu", schema=Imu)
reveal_type(pub)
pub.send("text")
sub = bus.subscriber("imu", schema=Imu)
message = sub.recv()
assert message is not None
reveal_type(message.value)
reveal_type(bus.join("imu", "ann", schema=Imu))
reveal_type(bus.subscriber("imu"))
wanted: slipring.Publisher[Imu] = pub
"""


def test_a_type_checker_knows_the_class_of_a_topic(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--no-color-output", "--hide-error-context", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = [
        line.partition("Revealed type is ")[2] for line in done.stdout.splitlines() if "Revealed" in line
    ]
    assert revealed == [
        '"slipring._bus.publisher.Publisher[program.Imu]"',
        '"program.Imu"',
        '"slipring._bus.member.Member[program.Imu]"',
        '"slipring._bus.subscriber.Subscriber[Any]"',
    ], done.stdout
    wrong = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(wrong) == 1 and "program.py:12" in wrong[0] and 'expected "Imu"' in wrong[0], done.stdout
    assert slipring.Publisher[Imu] and slipring.Subscriber[Imu] and slipring.Message[Imu]


def test_importing_slipring_does_not_import_the_schema_package():
    code = (
        "import sys, slipring; print([name for name in sys.modules if '.schema' in name or 'numpy' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_hash_of_a_declaration_is_that_of_its_topic(bus):
    bus.create("imu", schema=Imu)
    assert bus.schema("imu").hash == declare(Imu).hash
    assert bus.schema("imu") == declare(Imu)
