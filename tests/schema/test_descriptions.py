# SPDX-License-Identifier: Apache-2.0
"""A schema as Arrow columns, Spark DDL, JSON Schema and Python source."""

import dataclasses
import datetime
import math
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schema import foreign, samples, strategies
from slipring._bus.schema.declare import declare
from slipring._bus.schema.topic_schema import Schema

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


def test_the_ddl_of_every_type():
    assert declare(samples.Everything).ddl == (
        "i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, u8 SMALLINT, u16 INT, u32 BIGINT, u64 "
        "DECIMAL(20,0), f16 FLOAT, f32 FLOAT, f64 DOUBLE, flag BOOLEAN, text STRING, blob BINARY, when "
        "TIMESTAMP, when_ns TIMESTAMP, day DATE, long INTERVAL DAY TO SECOND, long_ns INTERVAL DAY TO "
        "SECOND, key STRING, price DECIMAL(10,2), colour STRING, level BIGINT, mode STRING, maybe BIGINT, "
        "many ARRAY<STRUCT<number: SMALLINT, text: STRING>>, three ARRAY<DOUBLE>, grid "
        "ARRAY<ARRAY<BIGINT>>, long_row ARRAY<DOUBLE>, by_name MAP<STRING, STRUCT<number: SMALLINT, text: "
        "STRING>>, inner STRUCT<number: SMALLINT, text: STRING>, short STRING, code BINARY, name BINARY, "
        "with_default BIGINT, empty ARRAY<DOUBLE>, not_a_number DOUBLE, nothing STRING, of_class "
        "STRUCT<number: SMALLINT, text: STRING>, first STRING, start TIMESTAMP, zero DECIMAL(3,1), pairs "
        "MAP<STRING, DOUBLE>"
    )


def test_the_ddl_is_what_the_spark_source_reads():
    from slipring.spark.decode import ddl

    cls, _ = samples.in_a_dataclass()
    assert ddl.parse(declare(cls).ddl).names == ["t", "acc", "at", "tags", "limits", "note"]
    assert declare("<f4").ddl == "value FLOAT"


def test_the_columns_of_a_class():
    cls, _ = samples.in_a_dataclass()
    item = pa.field("item", pa.float64(), False)
    assert declare(cls).arrow == pa.schema(
        [
            pa.field("t", pa.float64(), False),
            pa.field("acc", pa.list_(item, 3), False),
            pa.field(
                "at",
                pa.struct([pa.field("x", pa.float32(), False), pa.field("y", pa.float32(), False)]),
                False,
            ),
            pa.field("tags", pa.list_(pa.field("item", pa.string(), False)), False),
            pa.field("limits", pa.map_(pa.string(), pa.field("value", pa.int64(), False)), False),
            pa.field("note", pa.string()),
        ]
    )
    moments = declare(np.dtype([("when", "M8[ns]"), ("n", "u2")]))
    assert moments.arrow == pa.schema(
        [pa.field("when", pa.timestamp("ns", "UTC")), pa.field("n", pa.uint16(), False)]
    )
    given_schema = pa.schema([("a", pa.large_string())])
    assert declare(given_schema).arrow == given_schema


def test_the_json_schema_of_a_class():
    cls, _ = samples.in_a_dataclass()
    point = {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
        "required": ["x", "y"],
    }
    assert declare(cls).json_schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Imu",
        "type": "object",
        "properties": {
            "t": {"type": "number"},
            "acc": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
            "at": point,
            "tags": {"type": "array", "items": {"type": "string"}},
            "limits": {
                "type": "object",
                "additionalProperties": {"type": "integer", "minimum": -(1 << 63), "maximum": (1 << 63) - 1},
            },
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["t", "acc", "at", "tags", "limits", "note"],
    }
    properties = declare(samples.Everything).json_schema["properties"]
    assert properties["with_default"]["default"] == 7
    assert properties["colour"] == {"enum": ["r", "g"]}
    assert properties["when"] == {"type": "string", "format": "date-time"}
    assert "with_default" not in declare(samples.Everything).json_schema["required"]


def declared_by(schema: Schema) -> Schema:
    """What the source text of a schema declares."""
    found = foreign.load(schema.python, "declared_again")[schema.name]
    return declare(found, schema.encoding if schema.encoding in ("msgpack", "json") else None)


@pytest.mark.parametrize(
    "schema",
    [
        declare(samples.Everything),
        declare(samples.Everything, "json"),
        declare(samples.in_a_typed_dict()[0]),
        declare(
            np.dtype(
                [("t", "<f8"), ("p", [("x", "i1"), ("y", "<u4")], (2,)), ("n", "U3"), ("v", "V3")], align=True
            )
        ),
        declare("<f4"),
        declare(np.dtype(("<i2", (3, 2)))),
    ],
    ids=repr,
)
def test_the_source_declares_an_equal_schema(schema):
    assert declared_by(schema) == schema
    assert declared_by(schema).to_bytes() == schema.to_bytes()


def test_the_source_of_a_foreign_schema_declares_its_structure():
    arrow = pa.schema(
        [
            pa.field("a", pa.int32(), False),
            ("when", pa.timestamp("ns", "UTC")),
            ("p", pa.struct([("x", pa.int8())])),
        ]
    )
    for schema in (declare(arrow), declare(foreign.imu()), declare(foreign.bfbs())):
        assert declared_by(schema).root == schema.root


def test_the_source_is_what_a_person_would_write():
    @dataclass
    class Point:
        x: Annotated[float, "float32"]

    @dataclass
    class Imu:
        t: float
        acc: tuple[float, float, float]
        at: Point
        when: datetime.datetime
        ok: bool = True
        tags: list[str] = field(default_factory=list)

    assert declare(Imu).python == (
        "import datetime\n"
        "from dataclasses import dataclass, field\n"
        "from typing import Annotated\n"
        "\n\n"
        "@dataclass\n"
        "class Point:\n"
        '    x: Annotated[float, "float32"]\n'
        "\n\n"
        "@dataclass\n"
        "class Imu:\n"
        "    t: float\n"
        "    acc: tuple[float, float, float]\n"
        "    at: Point\n"
        "    when: datetime.datetime\n"
        "    ok: bool = True\n"
        "    tags: list[str] = field(default_factory=lambda: [])\n"
    )


def test_a_field_may_have_the_name_of_what_the_source_uses():
    names = [
        "int",
        "float",
        "str",
        "list",
        "dict",
        "tuple",
        "datetime",
        "dataclass",
        "field",
        "Annotated",
        "Made",
        "enum",
    ]
    cls = make_dataclass(
        "Made",
        [
            ("int", int, 1),
            ("float", float, math.nan),
            ("str", str, "s"),
            ("list", list[int], field(default_factory=list)),
            ("dict", dict[str, float], field(default_factory=dict)),
            ("tuple", tuple[int, int], (1, 2)),
            ("datetime", datetime.datetime, samples.MOMENT),
            ("dataclass", samples.Inner | None, None),
            ("field", samples.Inner, field(default_factory=lambda: samples.Inner(1))),
            ("Annotated", Annotated[int, "int8"], 5),
            ("Made", samples.Colour, samples.Colour.RED),
            ("enum", samples.Level, samples.Level.LOW),
            ("last", Annotated[float, "float32"], 0.5),
        ],
    )
    assert [each.name for each in dataclasses.fields(cls)][: len(names)] == names
    found = foreign.load(declare(cls).python, "declared_again")
    again = next(
        each for name, each in found.items() if name.startswith("Made") and dataclasses.is_dataclass(each)
    )
    assert declare(again).root == declare(cls).root


@given(st.data())
@settings(QUICK)
def test_the_source_of_any_type_declares_its_structure(data):
    schema = data.draw(strategies.schemas_with_defaults())
    assert declared_by(schema).root == schema.root
