# SPDX-License-Identifier: Apache-2.0
"""The schema of a topic: stored with it whole or not at all, never changed, compared with what an opener asks for."""

import os
from dataclasses import dataclass

import pytest

import slipring
from slipring._bus.schema.declare import declare
from slipring._bus.typed.stored import open_with


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class OtherType:
    t: int
    acc: tuple[float, float, float]
    ok: bool = True


def test_every_process_reads_the_schema_that_the_first_one_gave(bus, processes):
    bus.create("imu", schema=Imu)
    child = processes.start("""
        schema = bus.schema("imu")
        say(schema.name, schema.encoding, schema.hash, schema.ddl)
        bus.publisher("imu").send({"t": 1.0, "acc": [1.0, 2.0, 3.0]} | {"ok": False})
    """)
    asked = declare(Imu)
    child.expect(("Imu", "msgpack", asked.hash, "t DOUBLE, acc ARRAY<DOUBLE>, ok BOOLEAN"))
    child.join()
    assert bus.subscriber("imu", start="oldest", schema=Imu).recv(0).value == Imu(1.0, (1.0, 2.0, 3.0), False)


def test_an_untyped_topic_has_no_schema(bus):
    bus.publisher("raw").send(b"x")
    assert bus.schema("raw") is None
    assert bus.subscriber("raw", start="oldest").recv(0).value == b"x"
    with pytest.raises(slipring.TopicNotFound):
        bus.schema("missing")


def test_a_topic_that_is_replaced_at_every_attempt_is_refused_at_last():
    asked, replaced = declare(Imu), declare(Imu, name="Renamed").to_bytes()

    def opened(settings):
        raise slipring.SchemaMismatch("replaced meanwhile")

    def removed():
        raise slipring.TopicNotFound("removed meanwhile")

    for stored_bytes in (lambda: replaced, removed):
        with pytest.raises(slipring.SchemaMismatch, match="replaced meanwhile"):
            open_with(asked, "imu", {}, stored_bytes, opened)


def test_many_processes_that_create_one_topic_with_two_schemas_agree(processes, bus):
    script = """
        from dataclasses import dataclass
        @dataclass
        class One:
            a: int
        @dataclass
        class Two:
            b: int
        hear()
        for number in range(40):
            try:
                bus.publisher(f"t{number}", schema=One if odd else Two, capacity=4096).close()
                won.append(number)
            except slipring.SchemaMismatch as error:
                assert error.field in ("a", "b"), error
                lost.append(number)
        say(won, lost)
    """
    children = [processes.start(script, odd=bool(at % 2), won=[], lost=[]) for at in range(4)]
    for child in children:
        child.say("go")
    told = [child.hear() for child in children]
    for number in range(40):
        field = bus.schema(f"t{number}").fields[0][0]
        for at, (won, lost) in enumerate(told):
            assert (number in won) == (field == ("a" if at % 2 else "b"))
            assert (number in won) != (number in lost)


def test_a_topic_replaced_by_one_with_another_schema_is_another_topic(bus):
    pub, sub = bus.publisher("imu", schema=Imu), bus.subscriber("imu", schema=Imu)
    pub.send(Imu(1.0, (1.0, 2.0, 3.0)))
    bus.remove("imu")
    bus.create("imu", schema=OtherType)
    with pytest.raises(slipring.TopicGone):
        while sub.recv(0) is not None:
            pass
    assert bus.schema("imu").fields[0][1] == declare(OtherType).fields[0][1]


def _file(bus, topic):
    return os.path.join(bus.path, f"{topic}.ring")


def test_damaged_schema_bytes_are_corrupt_for_all_who_need_them(bus):
    bus.create("imu", schema=Imu)
    size = len(bus.schema("imu").to_bytes())
    with open(_file(bus, "imu"), "r+b") as file:
        file.seek(-4096 + size // 2, os.SEEK_END)
        file.write(b"\xff")
    for use in (
        lambda: bus.schema("imu"),
        lambda: bus.publisher("imu"),
        lambda: bus.subscriber("imu"),
        lambda: bus.subscriber("imu", schema=Imu),
    ):
        with pytest.raises(slipring.Corrupt, match="hash of the header"):
            use()
    with pytest.raises(slipring.SlipringError):
        bus.publisher("imu", schema=Imu)


def _fnv1a(data):
    number = 0xCBF29CE484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return number


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"null",
        b"[" * 300,
        b'{"version":2}',
        bytes(range(256)),
        b'{"encoding":"pickle","name":"x","type":"str","version":1}',
    ],
)
def test_other_bytes_than_a_schema_are_corrupt_although_their_hash_is_right(bus, data):
    """Any program may write such a topic: the core does not read schemas."""
    from slipring._native import topic_create

    topic_create(bus.path, "imu", {"schema": data, "capacity": 4096}, True) if os.path.isdir(
        bus.path
    ) else None
    if "imu" not in bus.topics():
        bus.create("first", capacity=4096)
        topic_create(bus.path, "imu", {"schema": data, "capacity": 4096}, True)
    with open(_file(bus, "imu"), "rb") as file:
        file.seek(152)
        assert int.from_bytes(file.read(8), "little") == _fnv1a(data)
    for use in (
        lambda: bus.schema("imu"),
        lambda: bus.publisher("imu"),
        lambda: bus.subscriber("imu"),
        lambda: bus.publisher("imu", schema=Imu),
        lambda: bus.subscriber("imu", schema=Imu),
    ):
        with pytest.raises(slipring.Corrupt, match="topic 'imu'"):
            use()
    assert not bus.stats("imu")["publishers"] and not bus.stats("imu")["readers"]


def test_a_schema_of_more_than_a_mebibyte_is_refused(bus):
    from dataclasses import make_dataclass

    wide = make_dataclass("Wide", [(f"{'long_name' * 27}{number}", float) for number in range(4000)])
    with pytest.raises(slipring.BadArgument, match="1048576 are allowed"):
        bus.create("wide", schema=wide)
    assert bus.topics() == []


def test_a_fork_reads_the_schema_of_its_parent(bus):
    bus.create("imu", schema=Imu)
    assert bus.schema("imu").name == "Imu"
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with slipring.Bus(bus.name, root=bus.root) as own:
                own.publisher("imu", schema=Imu).send(Imu(2.0, (1.0, 2.0, 3.0)))
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert bus.subscriber("imu", start="oldest").recv(0).value["t"] == 2.0
