# SPDX-License-Identifier: Apache-2.0
"""A method with annotations gets objects of its classes, and its caller learns which argument does not fit."""

import dataclasses
import datetime
import decimal
import functools
import logging
import uuid
from typing import Annotated, Any, Literal, NewType, Optional, Protocol, TypedDict, TypeVar

import msgspec
import numpy as np
import pytest

import slipring
from support import annotated
from support.annotated import ORDER, Colour, Imu, Options, Order, Part, Point, Pose, Robot

IMU = Imu(1.0, (1.0, 2.0, 3.0))
BAD_IMU = {"t": 1.0, "acc": [1.0, 2.0, "x"]}


class Service:
    """A server with one method, which notes what it gets."""

    def __init__(self, server, client):
        self.server, self.client = server, client
        self.got = []

    def offer(self, annotation, name="take"):
        def take(value):
            self.got.append(value)

        take.__annotations__ = {"value": annotation}
        self.server.method(take, name=name)

    def receive(self, annotation, value):
        """Return what a method gets whose parameter has this annotation."""
        name = f"take{len(self.got)}"
        self.offer(annotation, name)
        self.client.call(name, value)
        return self.got[-1]

    def refuse(self, annotation, value):
        """Return the error for a value that does not fit."""
        self.offer(annotation)
        with pytest.raises(slipring.BadArguments) as refused:
            self.client.call("take", value)
        assert self.got == []
        self.client.call("alive")
        return str(refused.value)


@pytest.fixture
def service(bus):
    with bus.server("calc") as server, bus.client("calc", timeout=20) as client:
        server.method(lambda: None, name="alive")
        server.start()
        yield Service(server, client)


ID = NewType("ID", int)


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (Imu, IMU, IMU),
        (Imu, {"t": 1, "acc": [1, 2, 3], "ok": False}, Imu(1.0, (1.0, 2.0, 3.0), False)),
        (Imu, {"t": 1.0, "acc": [1.0, 2.0, 3.0], "unknown": 1}, IMU),
        (Imu, {"t": 1.0, "acc": np.array([1.0, 2.0, 3.0])}, IMU),
        (Pose, Pose(1.0, [Part(1)]), Pose(1.0, [Part(1)])),
        (Point, {"x": 1}, Point(1, 0.5)),
        (Point, Point(1, 2.0), Point(1, 2.0)),
        (Options, {"name": "a", "sizes": {"b": 1}}, {"name": "a", "sizes": {"b": 1}}),
        (Order, ORDER, ORDER),
        (list[Imu], [IMU, IMU], [IMU, IMU]),
        (list[Point], [Point(1, 2.0)], [Point(1, 2.0)]),
        (dict[str, Part], {"a": Part(1)}, {"a": Part(1)}),
        (Imu | None, None, None),
        (Optional[Imu], IMU, IMU),  # noqa: UP045 - the older form
        (tuple[float, float], [1, 2.5], (1.0, 2.5)),
        (list[list[int]], [[1], []], [[1], []]),
        (float, 1, 1.0),
        (int, 1, 1),
        (bool, True, True),
        (str, "ü", "ü"),
        (bytes, b"\0", b"\0"),
        (Annotated[int, "uint64"], 2**64 - 1, 2**64 - 1),
        (np.int16, 5, np.int16(5)),
        (ID, 5, 5),
        (Colour, "r", Colour.RED),
        (Colour, Colour.RED, Colour.RED),
        (Literal["a", "b"], "b", "b"),
        (uuid.UUID, ORDER.key, ORDER.key),
        (datetime.datetime, ORDER.when, ORDER.when),
        (datetime.datetime, "2026-11-19T13:00:00+01:00", ORDER.when),
        (datetime.timedelta, ORDER.took, ORDER.took),
        (datetime.date, ORDER.day, ORDER.day),
        (Annotated[decimal.Decimal, "decimal(5, 2)"], decimal.Decimal("1.5"), decimal.Decimal("1.5")),
    ],
)
def test_an_argument_arrives_as_an_object_of_its_annotation(service, annotation, given, expected):
    found = service.receive(annotation, given)
    assert type(found) is type(expected)
    assert found == expected


@pytest.mark.parametrize(
    ("annotation", "given", "said"),
    [
        (int, "a", "value='a' (str) must be int64, an int"),
        (int, 1.0, "value=1.0 (float) must be int64, an int"),
        (int, True, "value=True (bool) must be int64, an int"),
        (int, 2**63, "value=9223372036854775808 (int) must be int64, -9223372036854775808 to"),
        (Annotated[int, "int32"], 2**31, "value=2147483648 (int) must be int32, -2147483648 to 2147483647"),
        (float, "1.0", "value='1.0' (str) must be float64, a float"),
        (float, True, "value=True (bool) must be float64, a float"),
        (bool, 1, "value=1 (int) must be bool"),
        (str, b"a", "value=b'a' (bytes) must be str, a str"),
        (bytes, "a", "value='a' (str) must be bytes, a bytes-like object"),
        (Annotated[bytes, "bytes[2]"], b"abc", "value=b'abc' (bytes) must be bytes[2], with 2 bytes, not 3"),
        (Imu, BAD_IMU, "acc[2]='x' (str) must be float64, a float"),
        (Imu, {"t": 1.0}, "acc is missing: it is array[float64, 3]"),
        (Imu, {"t": 1.0, "acc": [1.0]}, "acc=[1.0] (list) must be array[float64, 3], with 3 items"),
        (Imu, None, "value=None (NoneType) must be Imu or a dict"),
        (Imu | None, 5, "value=5 (int) must be Imu or a dict"),
        (Point, {"x": "a"}, "x='a' (str) must be int64, an int"),
        (Options, {"name": "a", "sizes": {"b": None}}, "sizes['b']=None (NoneType) must be int64"),
        (list[Imu], [IMU, BAD_IMU], "[1].acc[2]='x' (str) must be float64"),
        (Pose, Pose(1.0, [Part(1), Part(256)]), "parts[1].id=256 (int) must be uint8, 0 to 255"),
        (Colour, "g", "value='g' (str) must be enum[RED='r', BLUE='b']"),
        (uuid.UUID, "no", "value='no' (str) must be a uuid.UUID"),
        (datetime.datetime, "noon", "value='noon' (str) must be timestamp[us]: a datetime with a time zone"),
        (datetime.datetime, datetime.datetime(2026, 1, 1), "a datetime with a time zone"),
        (tuple[float, float], [1.0, 2.0, 3.0], "with 2 items here, not 3"),
        (Annotated[decimal.Decimal, "decimal(5, 2)"], decimal.Decimal("1.555"), "at most 2 digits after"),
        (dict[str, int], {1: 1}, "must be a str, as all keys"),
        (list[np.int8], [1, 300], "[1]=300 (int) must be int8, -128 to 127"),
    ],
)
def test_a_caller_learns_which_field_of_which_argument_does_not_fit(service, annotation, given, said):
    error = service.refuse(annotation, given)
    assert error.startswith("method 'take', parameter 'value': ")
    assert said in error


def test_named_and_further_arguments_are_checked_too(service):
    @service.server.method
    def take(a: int, /, b: int, *rest: Annotated[int, "int8"], c: Imu = IMU, **more: str):
        return [a, b, rest, c.t, more]

    call = functools.partial(service.client.call, "take")
    assert call(1, 2, 3, c=IMU, d="x") == [1, 2, [3], 1.0, {"d": "x"}]
    assert call(1, b=2, a="in more") == [1, 2, [], 1.0, {"a": "in more"}]
    for arguments, named, parameter in (
        ((1, "x"), {}, "'b'"),
        ((1,), {"b": "x"}, "'b'"),
        ((1, 2, 3, 300), {}, "'*rest[1]'"),
        ((1, 2), {"c": 3}, "'c'"),
        ((1, 2), {"d": 3}, "'d'"),
        ((1, 2), {"a": 3}, "'a'"),
    ):
        with pytest.raises(slipring.BadArguments, match="must be") as refused:
            call(*arguments, **named)
        assert f"method 'take', parameter {parameter}: " in str(refused.value).replace("\\", "")
    with pytest.raises(slipring.BadArguments, match="missing 1 required positional argument: 'b'"):
        call(1)


def test_too_many_and_unknown_arguments_are_refused_by_the_function(service):
    @service.server.method
    def take(a: int):
        return a

    with pytest.raises(slipring.BadArguments, match="takes 1 positional argument but 2 were given"):
        service.client.call("take", 1, 2)
    with pytest.raises(slipring.BadArguments, match="unexpected keyword argument 'b'"):
        service.client.call("take", 1, b=2)


def test_a_class_that_refuses_the_values_is_named(service):
    @dataclasses.dataclass
    class Even:
        n: int

        def __post_init__(self):
            if self.n % 2:
                raise KeyError("odd")

    assert "Even refuses {'n': 3}: KeyError: 'odd'" in service.refuse(Even, {"n": 3})


class Shape(Protocol):
    def area(self) -> float: ...


class Loose(TypedDict, total=False):
    a: int


T = TypeVar("T")


@pytest.mark.parametrize(
    "annotation",
    [Any, object, np.ndarray, np.ndarray[Any, np.dtype[np.float64]], Shape, Loose, T, int | str, list, dict,
     list[Any], tuple[int, str], set[int], dict[int, str], Imu | Pose, ["a list"], 5],
)  # fmt: skip
def test_an_annotation_that_no_schema_expresses_checks_nothing(service, annotation):
    for value in ({"a": "x"}, [1.5, "x"], None, 7):
        assert service.receive(annotation, value) == value
    array = service.receive(annotation, np.arange(3))
    assert array.tolist() == [0, 1, 2]


def test_parameters_without_annotations_pass_beside_checked_ones(service):
    @service.server.method
    def take(array, n: int, more: Any = None):
        return [array.sum(), n, more]

    assert service.client.call("take", np.arange(4), 2, {"a": [1]}) == [6, 2, {"a": [1]}]


def test_what_is_not_checked_is_logged(service, caplog):
    caplog.set_level(logging.DEBUG, "slipring.calls")
    service.offer(np.ndarray)
    (record,) = [each for each in caplog.records if each.name == "slipring.calls"]
    assert record.getMessage().startswith("method 'take', parameter 'value' is not checked: ndarray")


# The value


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (Imu, IMU, {"t": 1.0, "acc": [1.0, 2.0, 3.0], "ok": True}),
        (Imu, {"t": 1, "acc": [1, 2, 3]}, {"t": 1.0, "acc": [1.0, 2.0, 3.0], "ok": True}),
        (Pose, Pose(1.0), {"x": 1.0, "parts": []}),
        (Point, Point(1, 2.0), {"x": 1, "y": 2.0}),
        (list[Point], [Point(1)], [{"x": 1, "y": 0.5}]),
        (Colour, Colour.RED, "r"),
        (uuid.UUID, ORDER.key, str(ORDER.key)),
        (Annotated[decimal.Decimal, "decimal(5, 2)"], decimal.Decimal("1.50"), "1.50"),
        (datetime.datetime, ORDER.when, ORDER.when),
        (float, 1, 1.0),
        (np.float32, np.float32(0.5), 0.5),
        (Imu | None, None, None),
        (None, None, None),
        (decimal.Decimal, decimal.Decimal("1.5"), "1.5"),
        (Any, [1], [1]),
    ],
)
def test_a_value_is_sent_as_its_annotation_has_it(service, annotation, value, expected):
    def give():
        return value

    give.__annotations__ = {"return": annotation}
    service.server.method(give)
    found = service.client.call("give")
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (int, "a", "its value: value='a' (str) must be int64, an int"),
        (Imu, Imu(1.0, (1.0, 2.0, None)), "its value: acc[2]=None (NoneType) must be float64"),
        (Imu, None, "its value: value=None (NoneType) must be Imu or a dict"),
        (None, 5, "its value: 5 (int) must be None"),
    ],
)
def test_a_value_that_is_not_as_declared_is_an_error_of_the_method(service, annotation, value, said):
    def give():
        return value

    give.__annotations__ = {"return": annotation}
    service.server.method(give)
    with pytest.raises(slipring.RemoteError) as raised:
        service.client.call("give")
    assert (type(raised.value), raised.value.type) == (slipring.RemoteError, "TypeError")
    assert raised.value.message.startswith(f"method 'give' does not return what it declares: {said}")
    service.client.call("alive")


# Kinds of methods, with annotations that are text


@pytest.mark.parametrize("name", ["turn", "object", "partial", "wrapped", "later"])
def test_methods_of_all_kinds_are_checked(service, name):
    robot = Robot()
    function, good, bad, expected = {
        "turn": (robot.turn, (1.5,), ("x",), 1.5),
        "object": (robot, (IMU,), (BAD_IMU,), dataclasses.asdict(IMU) | {"acc": [1.0, 2.0, 3.0]}),
        "partial": (functools.partial(robot.turn, speed=2), (1.5,), ("x",), 3.0),
        "wrapped": (functools.wraps(robot.turn)(lambda *args: robot.turn(*args)), (1.5,), ("x",), 1.5),
        "later": (annotated.later, (IMU,), (BAD_IMU,), {"x": 1.0, "parts": []}),
    }[name]
    service.server.method(function, name="it")
    assert service.client.call("it", *good) == expected
    with pytest.raises(
        slipring.BadArguments, match=r"method 'it', parameter '(angle|imu)': .*must be float64"
    ):
        service.client.call("it", *bad)
    service.client.call("alive")


@pytest.mark.parametrize("function", [annotated.parts, annotated.later_parts])
def test_arguments_and_parts_of_streams_are_checked(service, function):
    service.server.method(function, name="parts")
    assert list(service.client.stream("parts", IMU, 2)) == [{"id": 0, "note": None}, {"id": 1, "note": None}]
    with pytest.raises(slipring.BadArguments, match=r"method 'parts', parameter 'imu': acc\[2\]='x'"):
        list(service.client.stream("parts", BAD_IMU, 2))
    got = []
    with pytest.raises(slipring.RemoteError, match=r"a part: id=256 \(int\) must be uint8, 0 to 255"):
        for part in service.client.stream("parts", IMU, 300):
            got.append(part["id"])
    assert got == list(range(256))
    service.client.call("alive")


def test_references_to_later_classes_inside_texts_are_resolved(service):
    assert service.receive(annotated.Later, {"part": {"n": 1}}) == annotated.Later(annotated.Below(1))


# Registration


@dataclasses.dataclass
class Cloud:
    points: np.ndarray


@dataclasses.dataclass
class Lost:
    part: "Nowhere"  # noqa: F821 - it does not exist


class LostDict(TypedDict):
    part: "Nowhere"  # noqa: F821 - it does not exist


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        ("Nowhere", "annotation 'Nowhere' cannot be resolved: NameError: name 'Nowhere' is not defined"),
        (list["Nowhere"], "cannot be resolved"),  # noqa: F821 - it does not exist
        ("not an annotation", "cannot be resolved"),
        (Cloud, "field points: ndarray is not a type of a schema"),
        (list[Cloud], r"points: ndarray is not a type of a schema"),
        (Cloud | None, "field points: ndarray is not a type of a schema"),
        (Lost, "the annotations of class Lost cannot be resolved"),
        (LostDict, "the annotations of class LostDict cannot be resolved"),
        (decimal.Decimal, "a Decimal has a precision and a scale"),
        (Annotated[int, "int33"], '"int33" is not a type'),
        (Annotated[int, msgspec.Meta(ge=0)], "a schema has no constraints"),
    ],
)
def test_an_annotation_that_cannot_be_checked_as_it_asks_is_refused_at_registration(
    service, annotation, said
):
    with pytest.raises(slipring.BadArgument) as refused:
        service.offer(annotation)
    assert str(refused.value).startswith("method 'take', parameter 'value': ")
    assert said in str(refused.value)
    assert refused.value.argument == "function"
    with pytest.raises(slipring.UnknownMethod):
        service.client.call("take", 1)


def test_a_value_whose_annotation_cannot_be_resolved_is_refused_at_registration(service):
    def give() -> "Nowhere": ...  # noqa: F821 - it does not exist

    with pytest.raises(slipring.BadArgument, match="method 'give', its value: annotation 'Nowhere' cannot"):
        service.server.method(give)


# Other codecs


class Own:
    """msgpack under another name: a codec of the program."""

    name = "own"

    def encode_arguments(self, args, kwargs):
        return msgspec.msgpack.encode((args, kwargs))

    def decode_arguments(self, data):
        return msgspec.msgpack.decode(data)

    encode_value = staticmethod(msgspec.msgpack.encode)
    decode_value = staticmethod(msgspec.msgpack.decode)


@pytest.mark.parametrize("codec", ["raw", Own()])
def test_other_codecs_check_nothing(bus, codec):
    def take(value: Imu) -> int:
        return value

    with bus.server("calc", codec=codec) as server, bus.client("calc", codec=codec, timeout=20) as client:
        server.method(take)
        server.start()
        assert client.call("take", b"bytes") == b"bytes"
