# SPDX-License-Identifier: Apache-2.0
"""A report knows the fields of typed topics: figures of each numeric field, compared with numpy."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np
import pytest

import slipring
from slipring._bus.schema.declare import declare
from slipring.pipelines import record, report
from slipring.pipelines.lake import Lake
from slipring.pipelines.report import fields as report_fields
from slipring.pipelines.report.findings import Findings
from spark.pipelines import typed_topics

COUNT = 200


@dataclass
class Point:
    x: Annotated[float, "float32"]
    n: int | None


@dataclass
class Message:
    t: float
    text: str
    ok: bool
    acc: tuple[float, float]
    at: Point
    maybe: Point | None
    path: list[Point]
    scan: Annotated[list[Annotated[int, "uint8"]], "shape(20)"]
    grid: Annotated[list[list[Annotated[int, "int16"]]], "shape(2, 2)"]
    by_name: dict[str, float]
    price: Annotated[Decimal, "decimal(8, 2)"]


def messages():
    chance = np.random.default_rng(7)
    for n in range(COUNT):
        yield Message(
            t=math.nan if n % 10 == 0 else float(chance.normal()),
            text="x",
            ok=True,
            acc=(float(n), -float(n)),
            at=Point(n / 2, None if n % 4 == 0 else n),
            maybe=Point(1.0, n) if n % 2 else None,
            path=[Point(float(at), at) for at in range(n % 3)],
            scan=[n % 256] * 20,
            grid=[[n, 2], [3, -n]],
            by_name={"a": 0.5, "b": float(n)},
            price=Decimal(n) / 4,
        )


WIDE = np.dtype([(f"f{at}", "f4") for at in range(100)])
PATHS = [
    *("t", "acc[0]", "acc[1]", "at.x", "at.n", "maybe.x", "maybe.n", "path[].x", "path[].n", "scan[]"),
    *("grid[0][0]", "grid[0][1]", "grid[1][0]", "grid[1][1]", "by_name[]", "price"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory, spark):
    path, root = tmp_path_factory.mktemp("fields") / "lake", str(tmp_path_factory.mktemp("bus"))
    with slipring.Bus("b", root=root) as bus:
        typed_topics.publish(bus, ("arrow", "protobuf", "flatbuffers"))
        bus.publisher("plain").send(b"bytes")
        with bus.publisher("m", schema=Message) as pub:
            for number, each in enumerate(messages()):
                pub.send(each)
                if number in (3, 7):
                    pub.send_raw(b"\xc1")
        bus.publisher("wide", schema=WIDE).send_many(np.ones(3, WIDE))
        record("*", path, bus="b", root=root, until_idle_s=0.5, pre_buffer=True, spark=spark)
        for topic in bus.topics():
            bus.remove(topic)
    return Lake.open(path)


@pytest.fixture(scope="module")
def found(lake, spark, tmp_path_factory):
    return report(lake.path, spark=spark, html=tmp_path_factory.mktemp("page") / "report.html")


def of(found, topic):
    return {row["field"]: row for row in found.fields if row["topic"] == topic}


def check(row, values, nan=0, null=0):
    values = np.asarray(values, "f8")
    assert (row["values"], row["nan"], row["null"]) == (len(values), nan, null)
    assert row["minimum"] == values.min() and row["maximum"] == values.max()
    for percent in report_fields.QUANTILES:
        low, high = (
            np.quantile(values, min(1, max(0, percent / 100 + off)), method=method)
            for off, method in ((-0.01, "lower"), (0.01, "higher"))
        )
        assert low <= row[f"p{percent}"] <= high, percent


def test_every_numeric_field_has_its_figures_under_its_path(found):
    rows, sent = of(found, "m"), list(messages())
    assert list(rows) == PATHS
    check(rows["t"], [one.t for one in sent if not math.isnan(one.t)], nan=COUNT // 10)
    check(rows["acc[0]"], range(COUNT))
    check(rows["acc[1]"], [-n for n in range(COUNT)])
    check(rows["at.x"], [n / 2 for n in range(COUNT)])
    check(rows["at.n"], [n for n in range(COUNT) if n % 4], null=COUNT // 4)
    check(rows["maybe.n"], [n for n in range(COUNT) if n % 2], null=COUNT // 2)
    check(rows["path[].n"], [at for n in range(COUNT) for at in range(n % 3)])
    check(rows["scan[]"], [n % 256 for n in range(COUNT)] * 20)
    check(rows["grid[1][1]"], [-n for n in range(COUNT)])
    check(rows["by_name[]"], [0.5] * COUNT + list(range(COUNT)))
    check(rows["price"], [n / 4 for n in range(COUNT)])
    assert (rows["t"]["type"], rows["price"]["type"], rows["scan[]"]["type"]) == (
        *("float64", "decimal(8, 2)", "uint8"),
    )


def test_fields_of_libraries_are_known(found):
    check(of(found, "protobuf")["t"], range(typed_topics.COUNT))
    check(of(found, "flatbuffers")["pair.seconds[1]"], [2] * typed_topics.COUNT)
    x = [row["x"] for batch in typed_topics.batches() for row in batch.to_pylist()]
    check(of(found, "arrow")["x"], x)
    assert of(found, "plain") == {}


def test_bad_bodies_are_counted_and_shown_and_do_not_end_the_report(found):
    ((row),) = found.undecodable
    assert (row["topic"], row["messages"]) == ("m", 2) and row["first"].startswith("sequence 4: ")
    assert found.totals["messages"] == COUNT + 2 + 3 * typed_topics.COUNT + 1 + 3


def test_a_wide_schema_names_the_fields_that_were_left_out(found):
    assert list(of(found, "wide")) == [f"f{at}" for at in range(report_fields.MOST_FIELDS)]
    assert found.fields_left_out == {"wide": [f"f{at}" for at in range(report_fields.MOST_FIELDS, 100)]}


def test_the_findings_are_json(found):
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["fields"] == found.fields


def test_a_damaged_schema_is_named_and_the_rest_is_reported(lake, spark, tmp_path):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(lake.path, copy)
    damaged = copy / "_schemas" / f"{declare(Message).hash}.json"
    damaged.write_bytes(b"{}")
    found = report(copy, spark=spark)
    assert str(damaged) in found.fields_unread["m"]
    assert of(found, "m") == {} and of(found, "wide")
    assert found.totals["messages"] > COUNT


def test_generations_of_a_topic_add_to_the_same_fields():
    found = report_fields.Fields()
    first, second = declare(Point), declare(np.dtype([("x", "f8"), ("y", "i2")]))
    report_fields.of_topic(found, "t", {"00": first, "ff" * 8: second})
    assert [(one.path, one.type) for one in found.series] == [
        *(("x", "float64"), ("n", "int64"), ("y", "int16")),
    ]
    assert found.schemas == {("t", 0): first, ("t", -1): second}


def test_a_recording_has_at_most_a_thousand_fields_and_names_the_others():
    found, wide = report_fields.Fields(), declare(WIDE)
    for at in range(20):
        report_fields.of_topic(found, f"t{at}", {"00": wide})
    assert len(found.series) == report_fields.MOST_IN_ALL
    assert sum(len(names) for names in found.left_out.values()) == 20 * 100 - report_fields.MOST_IN_ALL


def test_infinite_bounds_are_texts_in_json():
    found = Findings("lake", 0, fields=[{"field": "t", "minimum": -math.inf, "maximum": math.inf, "nan": 0}])
    (row,) = found.to_json()["fields"]
    assert row == {"field": "t", "minimum": "-inf", "maximum": "inf", "nan": 0}
    assert found.fields[0]["maximum"] == math.inf
