# SPDX-License-Identifier: Apache-2.0
"""A structure has one schema, however it is declared; what a schema cannot express is refused by field."""

import dataclasses
import datetime
import decimal
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import slipring
from schema import samples
from slipring._bus.schema import field_types as ft
from slipring._bus.schema.declare import declare


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_each_way_to_declare_a_class_gives_the_same_bytes(encoding):
    found = {way: declare(make()[0], encoding).to_bytes() for way, make in samples.WAYS.items()}
    assert len(set(found.values())) == 1, found


def test_the_encoding_is_msgpack_unless_json_is_asked_for():
    cls, _ = samples.in_a_dataclass()
    assert declare(cls).encoding == "msgpack"
    assert declare(cls) != declare(cls, "json")
    assert declare(cls).hash != declare(cls, "json").hash
    with pytest.raises(slipring.BadArgument, match="msgpack or json"):
        declare(cls, "numpy")
    with pytest.raises(slipring.BadArgument, match="allowed is numpy"):
        declare(np.dtype("f8"), "arrow")


def test_a_schema_is_returned_as_it_is():
    schema = declare(samples.Inner)
    assert declare(schema) is schema
    with pytest.raises(slipring.BadArgument, match="encoding"):
        declare(schema, "json")


def test_each_annotation_has_its_type():
    schema = declare(samples.Everything)
    assert [str(kind) for _, kind in schema.fields] == [
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "bool",
        "str",
        "bytes",
        "timestamp[us]",
        "timestamp[ns]",
        "date",
        "duration[us]",
        "duration[ns]",
        "uuid",
        "decimal(10, 2)",
        "enum[RED='r', GREEN='g']",
        "enum[LOW=-1, HIGH=1099511627776]",
        "enum['slow', 'fast']",
        "int64 | None",
        "list[structure Inner]",
        "array[float64, 3]",
        "array[int64, 2x3]",
        "array[float64, 12]",
        "dict[str, structure Inner | None]",
        "structure Inner",
        "str[<=4]",
        "bytes[4]",
        "bytes[<=4]",
        "int64",
        "list[float64]",
        "float64",
        "str | None",
        "structure Inner",
        "enum[RED='r', GREEN='g']",
        "timestamp[us]",
        "decimal(3, 1) | None",
        "dict[str, float64]",
    ]


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (np.int8, "int8"),
        (np.uint64, "uint64"),
        (np.float16, "float16"),
        (np.bool_, "bool"),
        (Annotated[int, np.uint16], "uint16"),
        (Annotated[float, "metres"], "float64"),
        (NewType("Id", int), "int64"),
        (Literal["a", None], "enum['a'] | None"),
        (Literal[3, 4], "enum[3, 4]"),
        (None | int, "int64 | None"),
        (tuple[int, ...], "list[int64]"),
        (tuple[tuple[int, int], tuple[int, int]], "array[int64, 2x2]"),
        (Annotated[tuple[int, ...], "shape(9)"], "array[int64, 9]"),
        (list[int | None], "list[int64 | None]"),
        (Annotated[datetime.datetime, msgspec.Meta(tz=True)], "timestamp[us]"),
        (list[list[int]], "list[list[int64]]"),
    ],
)
def test_sizes_and_containers(hint, kind):
    cls = dataclasses.make_dataclass("Made", [("field", hint)])
    assert str(declare(cls).root.fields[0].type) == kind


class Recursive:
    pass


@dataclass
class Node:
    next: "Node | None"


class Other(enum.Enum):
    BOTH = 1
    KINDS = "x"


class Bits(enum.Flag):
    ONE = 1


@dataclass
class Deep:
    inner: list[dict[str, Any]]


@dataclass
class Holder:
    deep: Deep | None


REFUSED = {
    "Any": (Any, "value is Any|typing.Any"),
    "object": (object, "object is not a type"),
    "a union of structures": (samples.Inner | Node, "only with None"),
    "a union of numbers": (int | float, "only with None"),
    "int keys": (dict[int, str], "keys of a dict are str, not int"),
    "a recursive class": (Node, "class Node contains itself"),
    "a list without items": (list, r"list\[float\]"),
    "a tuple of several types": (tuple[int, str], "of one type"),
    "an empty tuple": (tuple[()], "of one type"),
    "a set": (set[int], "set"),
    "complex": (complex, "complex is not a type"),
    "time of day": (datetime.time, "time is not a type"),
    "Decimal without a size": (decimal.Decimal, r"decimal\(10, 2\)"),
    "a precision that is too large": (Annotated[decimal.Decimal, "decimal(39, 2)"], "1 to 38"),
    "an int beyond 64 bits": (Annotated[int, "int128"], "int128"),
    "a size of another class": (Annotated[str, "int32"], r'belongs to Annotated\[int, "int32"\]'),
    "two sizes": (Annotated[int, "int32", "int16"], "alone"),
    "a wrong shape": (Annotated[list[float], "shape(2, 2)"], "shape"),
    "a shape of nothing": (Annotated[list[float], "shape(0)"], "1 or more"),
    "a shape that is too large": (Annotated[list[float], "shape(99999999)"], "at most"),
    "constraints": (Annotated[int, msgspec.Meta(ge=0)], "no constraints"),
    "a mixed enum": (Other, "all str or all int"),
    "a flag": (Bits, "Flag"),
    "a mixed Literal": (Literal[1, "a"], "all str or all int"),
    "a bool in a Literal": (Literal[True], "all str or all int"),
    "Literal of None": (Literal[None], "other than None"),
    "None alone": (None, "not a type|NoneType"),
    "a class without fields": (Recursive, "Recursive is not a type"),
    "an abstract number": (np.floating, "floating"),
    "a numpy array": (np.ndarray, "ndarray"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_schema_cannot_express_names_the_field(case):
    hint, match = REFUSED[case]
    cls = dataclasses.make_dataclass("Made", [("fine", int), ("wrong", hint)])
    if case == "Any":
        match = "Any is not a type"
    with pytest.raises(slipring.BadArgument, match=match) as caught:
        declare(cls)
    assert caught.value.argument.startswith("wrong")


def test_the_path_of_a_nested_field_is_named():
    with pytest.raises(slipring.BadArgument, match=r"^field deep\.inner\[\]\[\]: ") as caught:
        declare(Holder)
    assert caught.value.argument == "deep.inner[][]"


@pytest.mark.parametrize("name", ["__x", "x" * 256, "ünicode"])
def test_a_name_that_is_not_an_identifier_is_refused(name):
    cls = dataclasses.make_dataclass("Made", [(name, int)])
    with pytest.raises(slipring.BadArgument, match="ASCII letters"):
        declare(cls)


@pytest.mark.parametrize("name", ["a b", "class", "1st", "a.b", ""])
def test_names_of_dtypes_and_arrow_columns_are_identifiers(name):
    for thing in (pa.schema([(name, pa.int8())]), *([np.dtype([(name, "i1")])] if name else [])):
        with pytest.raises(slipring.BadArgument, match="ASCII letters"):
            declare(thing)


@pytest.mark.parametrize("name", [*ft.OWN_COLUMNS, "Topic", "VALUE"])
def test_a_column_that_each_message_has_is_refused_at_the_top_alone(name):
    cls = dataclasses.make_dataclass("Made", [(name, int)])
    with pytest.raises(slipring.BadArgument, match="choose another name") as caught:
        declare(cls)
    assert caught.value.argument == name
    declare(dataclasses.make_dataclass("Outer", [("inner", cls)]))


def test_names_that_differ_in_case_alone_are_refused():
    with pytest.raises(slipring.BadArgument, match="there twice") as caught:
        declare(dataclasses.make_dataclass("Made", [("speed", int), ("Speed", int)]))
    assert caught.value.argument == "Speed"


def classes_that_are_refused():
    class Tagged(msgspec.Struct, tag="x"):
        a: int

    class AsArray(msgspec.Struct, array_like=True):
        a: int

    class Renamed(msgspec.Struct, rename="camel"):
        a_b: int

    class Absent(TypedDict):
        a: NotRequired[int]

    class Empty(NamedTuple):
        pass

    @dataclass
    class NotAnArgument:
        a: int = field(init=False, default=1)

    @dataclass
    class BadDefault:
        a: Annotated[int, "int8"] = 1000

    @dataclass
    class NewDefault:
        a: list[float] = field(default_factory=lambda counter=iter(range(9)): [float(next(counter))])  # noqa: B008

    @dataclass
    class Unresolved:
        a: "NoSuchName"  # noqa: F821

    return {
        Tagged: "tag=",
        AsArray: "array_like=",
        Renamed: "renamed",
        Absent: "NotRequired",
        Empty: "no field",
        NotAnArgument: "init=False",
        BadDefault: "its default does not fit",
        NewDefault: "another value each time",
        Unresolved: "cannot be resolved",
    }


@pytest.mark.parametrize(("cls", "match"), classes_that_are_refused().items())
def test_classes_that_cannot_be_declared(cls, match):
    with pytest.raises(slipring.BadArgument, match=match):
        declare(cls)


@pytest.mark.parametrize(
    "thing", [5, None, int, "no such dtype", {"a": int}, object(), Recursive, "missing.bfbs", b"x"]
)
def test_what_is_not_a_declaration_is_refused(thing):
    with pytest.raises(slipring.BadArgument):
        declare(thing)


@pytest.mark.parametrize(
    ("dtype", "field", "match"),
    [
        (np.dtype([("a", "O")]), "a", "not a type of a schema"),
        (np.dtype([("a", "c16")]), "a", "not a type of a schema"),
        (np.dtype([("a", "g")]), "a", "not a type of a schema"),
        (np.dtype([("a", ">f8")]), "a", "big-endian"),
        (np.dtype([("a", "M8[ms]")]), "a", "counts in 1 ms"),
        (np.dtype([("a", "M8")]), "a", "counts in"),
        (np.dtype([("a", "S0")]), "a", "no bytes"),
        (np.dtype([("p", [("q", "c8")])]), "p.q", "not a type"),
        (np.dtype([("a", ("c8", (2,)))]), "a[]", "not a type"),
        (
            np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]}),
            "b",
            "inside the field before",
        ),
        (
            np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]}),
            "schema",
            "order of their offsets",
        ),
        (np.dtype([(("title", "a"), "i4")]), "title", "title"),
    ],
)
def test_dtypes_that_cannot_be_declared(dtype, field, match):
    with pytest.raises(slipring.BadArgument, match=match) as caught:
        declare(dtype)
    assert caught.value.argument == field


@pytest.mark.parametrize(
    "kind",
    [
        pa.null(),
        pa.time32("s"),
        pa.time64("us"),
        pa.timestamp("us"),
        pa.timestamp("ms", "UTC"),
        pa.date64(),
        pa.duration("s"),
        pa.decimal256(40, 2),
        pa.dictionary(pa.int8(), pa.string()),
        pa.map_(pa.int8(), pa.int8()),
        pa.union([pa.field("x", pa.int8())], "dense"),
        pa.run_end_encoded(pa.int32(), pa.int8()),
        pa.struct([]),
        pa.month_day_nano_interval(),
        pa.list_(pa.null()),
    ],
)
def test_arrow_types_that_cannot_be_declared(kind):
    with pytest.raises(slipring.BadArgument) as caught:
        declare(pa.schema([("fine", pa.int8()), ("wrong", kind)]))
    assert caught.value.argument.startswith("wrong")


def test_a_dtype_keeps_its_padding():
    for dtype in (
        np.dtype([("a", "i1"), ("b", "<f8"), ("c", [("x", "<i2"), ("y", "<u4")], (2,))], align=True),
        np.dtype([("a", "i1"), ("b", "<f8")]),
        np.dtype({"names": ["a"], "formats": ["<i4"], "offsets": [12], "itemsize": 40}),
        np.dtype("<f4"),
        np.dtype(("<i2", (3, 2))),
    ):
        from slipring._bus.schema.encodings import numpy_layout

        assert numpy_layout.to_dtype(declare(dtype)) == dtype


def test_a_schema_needs_no_package_that_it_does_not_use(tmp_path):
    import subprocess
    import sys

    code = """
import sys
from dataclasses import dataclass
sys.modules.update(dict.fromkeys(["msgspec", "numpy", "pyarrow", "google.protobuf", "flatbuffers"]))
from slipring._bus.schema.declare import declare
from slipring._bus.schema.topic_schema import Schema
from slipring._bus.schema.codec import Encoder
import slipring
@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
schema = declare(Imu)
print(Schema.from_bytes(schema.to_bytes()).ddl)
for use in (lambda: Encoder(schema), lambda: schema.arrow, lambda: declare("f8")):
    try:
        use()
    except slipring.MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "t DOUBLE, acc ARRAY<DOUBLE>",
        'a topic of encoding msgpack or json needs the package msgspec: pip install "slipring[typed]"',
        'Arrow columns need the package pyarrow: pip install "slipring[typed]"',
        'a topic of encoding numpy needs the package numpy: pip install "slipring[typed]"',
    ], done.stderr
