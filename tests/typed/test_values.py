# SPDX-License-Identifier: Apache-2.0
"""Values on a typed topic: objects in, objects out, and errors that name topic, sequence and field."""

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
