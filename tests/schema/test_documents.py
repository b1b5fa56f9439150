# SPDX-License-Identifier: Apache-2.0
"""The bytes of a schema: canonical, equal to docs/spec/schema.md, and hostile until checked."""

import base64
import contextlib
import hashlib
import json
import pickle
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import foreign, samples, strategies
from slipring._bus.schema import field_types as ft
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.topic_schema import Schema

SPEC = Path(__file__).resolve().parents[2] / "docs/spec/schema.md"
QUICK = settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
RUNS = 1200


def document(root=None, **others):
    kind = (
        root
        if root is not None
        else {"kind": "struct", "name": "S", "fields": [{"name": "a", "type": "int8"}]}
    )
    return {"version": 1, "encoding": "msgpack", "name": "S", "type": kind, **others}


def dump(content) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def struct(*fields):
    return {"kind": "struct", "name": "S", "fields": [{"name": n, "type": t} for n, t in fields]}


def nested(levels):
    kind = "int8"
    for _ in range(levels):
        kind = {"kind": "list", "item": kind}
    return struct(("a", kind))


HOSTILE = {
    "nothing": (b"", "not JSON"),
    "not UTF-8": (b"\xff", "not JSON"),
    "not an object": (b"[]", "JSON list, not an object"),
    "too large": (b" " * ((1 << 20) + 1), "at most 1048576"),
    "deep brackets": (b"[" * 100_000, "not JSON|nested"),
    "deep objects": (b'{"a":' * 100_000, "not JSON|nested"),
    "a deep extra": (
        b'{"encoding":"numpy","layout":'
        + b"[" * 900
        + b"]" * 900
        + b',"name":"S","type":"int8","version":1}',
        "layout",
    ),
    "another version": (dump(document(version=2)), "version 2 is unknown"),
    "no version": (dump({"encoding": "json"}), "version None"),
    "another encoding": (dump(document(encoding="xml")), "encoding xml is unknown"),
    "an encoding that is a list": (dump(document(encoding=["json"])), "is unknown"),
    "no name": (dump(document(name=None)), "name"),
    "a bad name": (dump(document(name="a b")), "name"),
    "no type": (dump(document(type=None)), "None is not a type"),
    "an unknown type": (dump(document(struct(("a", "int128")))), "field a: int128 is not a type"),
    "an unknown kind": (dump(document(struct(("a", {"kind": "tuple"})))), "field a: .* is not a type"),
    "no structure": (dump(document("int8")), "is a structure, not int8"),
    "no field": (dump(document(struct())), "at least one field"),
    "a bad field name": (dump(document(struct(("a b", "int8")))), "field a b: "),
    "a name twice": (
        dump(document(struct(("a", "int8"), ("a", "int8")))),
        "field a: the name is there twice",
    ),
    "a name in two cases": (
        dump(document(struct(("a", "int8"), ("A", "int8")))),
        "field A: the name is there twice",
    ),
    "an own column": (dump(document(struct(("topic", "int8")))), "field topic"),
    "too deep": (dump(document(nested(40))), "nested deeper than 32"),
    "too many fields": (dump(document(struct(*((f"f{x}", "int8") for x in range(5000))))), "more than 4096"),
    "a huge array": (
        dump(document(struct(("a", {"kind": "array", "item": "int8", "shape": [1 << 20, 1 << 20]})))),
        "at most",
    ),
    "an empty array": (
        dump(document(struct(("a", {"kind": "array", "item": "int8", "shape": [0]})))),
        "1 or more",
    ),
    "an array of text": (
        dump(document(struct(("a", {"kind": "array", "item": "int8", "shape": ["3"]})))),
        "integers",
    ),
    "a shape of true": (
        dump(document(struct(("a", {"kind": "array", "item": "int8", "shape": [True]})))),
        "integers",
    ),
    "an array of arrays": (
        dump(
            document(
                struct(
                    (
                        "a",
                        {
                            "kind": "array",
                            "item": {"kind": "array", "item": "int8", "shape": [1]},
                            "shape": [1],
                        },
                    )
                )
            )
        ),
        "array of arrays",
    ),
    "None of None": (
        dump(document(struct(("a", {"kind": "optional", "item": {"kind": "optional", "item": "int8"}})))),
        "two None",
    ),
    "a wrong decimal": (dump(document(struct(("a", "decimal(5, 9)")))), "precision must be"),
    "a size of nothing": (dump(document(struct(("a", "bytes[0]")))), "size must be"),
    "an enum of nothing": (
        dump(document(struct(("a", {"kind": "enum", "name": "", "values": []})))),
        "at least one value",
    ),
    "a mixed enum": (
        dump(document(struct(("a", {"kind": "enum", "name": "", "values": [["a", "a"], ["b", 1]]})))),
        "all str",
    ),
    "a huge enum value": (
        dump(document(struct(("a", {"kind": "enum", "name": "", "values": [["a", 1 << 70]]})))),
        "int64",
    ),
    "a value twice": (
        dump(document(struct(("a", {"kind": "enum", "name": "", "values": [["a", 1], ["b", 1]]})))),
        "twice",
    ),
    "an enum of bools": (
        dump(document(struct(("a", {"kind": "enum", "name": "", "values": [["a", True]]})))),
        "not the name",
    ),
    "an unknown key": (dump(document(extra=1)), "canonical form"),
    "white space": (json.dumps(document(), sort_keys=True).encode(), "canonical form"),
    "another order": (json.dumps(document(), separators=(",", ":")).encode(), "canonical form"),
    "a key twice": (dump(document()).replace(b'"name":"S",', b'"name":"S","name":"S",', 1), "canonical form"),
    "a lone surrogate": (
        dump(document()).replace(b'"fields":[{"name":"a"', b'"fields":[{"name":"\\ud800"', 1),
        "field",
    ),
    "a surrogate in an enum": (
        dump(document(struct(("a", {"kind": "enum", "name": "", "values": [["@", "@"]]})))).replace(
            b"@", b"\\ud800"
        ),
        "not UTF-8",
    ),
    "a wrong default": (
        dump(document({**struct(), "fields": [{"name": "a", "type": "int8", "default": 300}]})),
        "field a: the default",
    ),
    "a default of another type": (
        dump(document({**struct(), "fields": [{"name": "a", "type": "str", "default": 3}]})),
        "field a",
    ),
    "an unneeded layout": (dump(document(layout=[])), "canonical form"),
    "numpy without a layout": (dump(document(encoding="numpy")), "needs 'layout'"),
    "a layout of text": (dump(document(encoding="numpy", layout=["x"])), "the layout of structure S"),
    "a layout that is too small": (
        dump(document(encoding="numpy", layout=[[0, 0]])),
        "ends at 1, behind the 0 bytes",
    ),
    "a negative offset": (dump(document(encoding="numpy", layout=[[8, -1]])), "inside the field before"),
    "a layout with too much": (dump(document(encoding="numpy", layout=[[1, 0], [1, 0]])), "more structures"),
    "a huge layout": (dump(document(encoding="numpy", layout=[[1 << 40, 0]])), "at most"),
    "numpy of text": (
        dump(document(struct(("a", "str")), encoding="numpy", layout=[[8, 0]])),
        "no fixed size",
    ),
    "arrow without a schema": (dump(document(encoding="arrow")), "needs 'arrow'"),
    "no base64": (dump(document(encoding="arrow", arrow="!")), "not base64"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_other_bytes_are_corrupt(case):
    data, match = HOSTILE[case]
    with pytest.raises(slipring.Corrupt, match=match):
        Schema.from_bytes(data)


def all_schemas() -> list[Schema]:
    import numpy as np

    return [
        declare(samples.Everything),
        declare(samples.Everything, "json"),
        declare(samples.in_a_dataclass()[0]),
        declare(np.dtype([("t", "<f8"), ("p", [("x", "i1"), ("y", "<u4")], (2,)), ("n", "U3")], align=True)),
        declare("<f4"),
        declare(pa.schema([("a", pa.int8()), ("l", pa.large_list(pa.struct([("x", pa.string())])))])),
        declare(foreign.imu()),
        declare(foreign.bfbs()),
    ]


def test_bytes_are_read_back():
    for schema in all_schemas():
        data = schema.to_bytes()
        found = Schema.from_bytes(data)
        assert found == schema and hash(found) == hash(schema)
        assert found.root == schema.root
        assert found.to_bytes() == data
        assert found.hash == hashlib.sha256(data).hexdigest()
        assert Schema.from_bytes(memoryview(data)) == schema
        assert pickle.loads(pickle.dumps(schema)) == schema
        assert repr(schema).startswith(f"<Schema {schema.name}, {schema.encoding}, ")
        assert json.loads(data)["encoding"] == schema.encoding
    assert len({schema.hash for schema in all_schemas()}) == len(all_schemas())


@given(st.data())
@settings(QUICK)
def test_the_bytes_of_any_type_are_read_back(data):
    schema = data.draw(strategies.schemas_with_defaults())
    found = Schema.from_bytes(schema.to_bytes())
    assert found == schema
    assert found.root == schema.root


def mutated(dice: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(found) + 1)
        match dice.randrange(5):
            case 0:
                found[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del found[at : at + dice.randrange(1, 9)]
            case 2:
                found[at:at] = dice.choice(
                    [b"[", b"{", b'"', b",", b"9", b"-", b"\xff", b"null", b'{"kind":"list","item":']
                )
            case 3:
                other = dice.randrange(len(data))
                found[at:at] = data[other : other + dice.randrange(1, 40)]
            case _:
                number = bytes(str(dice.choice([0, -1, 1 << 31, 1 << 64, 10**30, 1e308])), "ascii")
                places = [each.span() for each in re.finditer(rb"\d+", bytes(found))]
                if places:
                    start, end = dice.choice(places)
                    found[start:end] = number
    return bytes(found)


def use(schema: Schema) -> None:
    """What a reader does with a schema that was accepted."""
    _ = schema.ddl, schema.json_schema, schema.arrow, schema.hash, repr(schema)
    Encoder(schema)
    with contextlib.suppress(slipring.Undecodable):
        Decoder(schema).decode(b"\x80" * 8)


@pytest.mark.parametrize("at", range(8))
def test_mutated_bytes_are_corrupt_or_a_schema(at):
    data, dice = all_schemas()[at].to_bytes(), random.Random(at)
    for _ in range(RUNS // 8):
        try:
            schema = Schema.from_bytes(mutated(dice, data))
        except slipring.Corrupt:
            continue
        with contextlib.suppress(slipring.Corrupt):
            use(schema)


@pytest.mark.parametrize("key", ["arrow", "descriptors", "bfbs"])
def test_mutated_attachments_are_corrupt(key):
    dice = random.Random(key)
    for schema in all_schemas():
        if key not in schema.extra:
            continue
        content = json.loads(schema.to_bytes())
        for _ in range(RUNS // 4):
            attached = mutated(dice, schema.extra[key])
            content[key] = base64.b64encode(attached).decode()
            stored = Schema.from_bytes(dump(content))
            try:
                use(stored)
            except slipring.Corrupt:
                continue
            assert stored.root == schema.root


def smallest(kind):
    """The plain value with the least in it."""
    match kind:
        case ft.Struct(fields=fields):
            return {each.name: smallest(each.type) for each in fields}
        case ft.Array(shape=shape, row=row):
            return [smallest(row)] * shape[0]
        case ft.List(item=item):
            return [smallest(item)]
        case ft.Nullable(item=item):
            return smallest(item)
        case ft.Enum(values=values):
            return values[0][1]
        case ft.Text():
            return ""
        case ft.Bytes():
            return b""
        case ft.Bool():
            return False
        case ft.Float():
            return 0.5
    return 1


def test_a_damaged_bfbs_is_refused_or_has_messages():
    """Each 16-bit word replaced: of those that are still a schema, a message comes back."""
    good, found = foreign.bfbs(), 0
    for number in (0, 400, 0xFFFF):
        for at in range(0, len(good) - 1, 2):
            try:
                schema = declare(good[:at] + number.to_bytes(2, "little") + good[at + 2 :])
            except slipring.BadArgument:
                continue
            value = smallest(schema.root)
            body = Encoder(schema).encode(value)
            found += Decoder(schema).decode(body) == value
    assert found > 500


def test_an_attachment_of_another_type_is_corrupt():
    schema = declare(pa.schema([("a", pa.int8())]))
    other = declare(pa.schema([("a", pa.int16())]))
    content = {**json.loads(schema.to_bytes()), "arrow": json.loads(other.to_bytes())["arrow"]}
    stored = Schema.from_bytes(dump(content))
    with pytest.raises(slipring.Corrupt, match="does not have the type"):
        _ = stored.arrow


def test_a_schema_of_the_largest_size_is_accepted_and_a_larger_one_is_not():
    values = tuple((f"value{at:04}" + "x" * 110, at) for at in range(4000))
    kind = ft.Struct((ft.Field("a", ft.Enum(values)),), "S")
    schema = Schema("S", "msgpack", kind)
    assert 500_000 < len(schema.to_bytes()) <= 1 << 20
    assert Schema.from_bytes(schema.to_bytes()) == schema
    with pytest.raises(slipring.BadArgument, match="at most 1048576"):
        Schema(
            "S",
            "msgpack",
            ft.Struct((ft.Field("a", ft.Enum(tuple((f"{at}" + "x" * 400, at) for at in range(4000)))),), "S"),
        )


def vectors() -> list[tuple[str, str, str]]:
    """Python source, document and hash of each vector in the specification."""
    text = SPEC.read_text()
    return re.findall(r"```python\n(.*?)```\n+```json\n(.*?)\n```\n+```text\n(\w+)\n```", text, re.DOTALL)


def test_the_vectors_of_the_specification():
    assert len(vectors()) >= 3
    for source, expected, digest in vectors():
        schema = declare(foreign.load(source, "vector")["schema"])
        assert schema.to_bytes().decode() == expected
        assert schema.hash == digest
        assert Schema.from_bytes(expected.encode()) == schema


def test_the_limits_of_the_specification():
    text = SPEC.read_text()
    from slipring._bus.schema import schema_document

    for name, limit in (
        ("bytes of the document", schema_document.MOST_BYTES),
        ("types inside types", ft.MOST_DEPTH),
        ("fields and values of enums", ft.MOST_FIELDS),
        ("characters of a name", ft.MOST_NAME),
        ("dimensions of an array", ft.MOST_DIMENSIONS),
        ("items of an array", ft.MOST_ELEMENTS),
    ):
        assert f"| {name} | {limit:,} |" in text, name
    for each in ft.SIMPLE:
        assert f"`{each}`" in text
    for each in ft.OWN_COLUMNS:
        assert f"`{each}`" in text
