# SPDX-License-Identifier: Apache-2.0
"""Names in a document come from any program: they are not code, and errors do not repeat them whole."""

import ast
import json

import pytest

import slipring
from schema import foreign, samples
from slipring._bus.schema import field_types as ft
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.declare import declare
from slipring._bus.schema.topic_schema import Schema

TEXTS = ["Poi-nt", "None", "a\0b", "x:\n    import os\nclass y", "ü", "(object", "x" * 5000]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("kind", ["struct", "enum"])
def test_the_source_of_a_schema_declares_classes_and_nothing_else(kind, text):
    inner = ft.Struct((ft.Field("x", ft.Int()),), text)
    part = inner if kind == "struct" else ft.Enum((("A", "a"),), text)
    schema = Schema("Record", "json", ft.Struct((ft.Field("part", part),), text))
    found = Schema.from_bytes(schema.to_bytes())
    statements = ast.parse(found.python).body
    assert all(
        isinstance(each, ast.Import | ast.ImportFrom | ast.ClassDef | ast.Assign) for each in statements
    )
    [cls] = [value for name, value in foreign.load(found.python, "made").items() if name == "Record"]
    assert declare(cls, "json").root == schema.root


def test_a_dtype_with_the_name_of_a_keyword_has_a_source():
    import numpy

    schema = declare(numpy.dtype("<i4"))
    named = Schema("class", "numpy", schema.root, schema.extra)
    assert foreign.load(named.python, "made")["class_"] == numpy.dtype("<i4")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_the_name_of_a_structure_is_any_text_to_a_codec(encoding, text):
    schema = Schema("Record", encoding, ft.Struct((ft.Field("x", ft.Int()),), text))
    found = Schema.from_bytes(schema.to_bytes())
    assert Decoder(found).decode(Encoder(found).encode({"x": 1})) == {"x": 1}


def long_names():
    document = json.loads(declare(samples.in_a_dataclass()[0]).to_bytes())
    long = "x" * 100_000
    yield {**document, "name": long}
    yield {**document, "encoding": long}
    yield {**document, "version": long}
    yield {**document, "type": {**document["type"], "fields": [{"name": long, "type": "int8"}]}}
    yield {**document, "type": {**document["type"], "fields": [{"name": "a", "type": long}]}}
    yield {**document, "type": {"kind": long}}
    yield {
        **document,
        "type": {"kind": "struct", "name": "", "fields": [{"name": "a", "type": "int8", "default": long}]},
    }


@pytest.mark.parametrize("document", list(long_names()))
def test_an_error_does_not_repeat_a_long_name(document):
    with pytest.raises(slipring.Corrupt) as caught:
        Schema.from_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())
    assert len(str(caught.value)) < 1000
