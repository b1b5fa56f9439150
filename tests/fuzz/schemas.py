# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets: documents of schemas (docs/spec/schema.md section 1).

schema_documents  any bytes give a Schema or Corrupt; a Schema has the same bytes again and can be described
schema_codecs     columns, classes, encoders and decoders are made of a document, or it is Corrupt. The descriptors of
                  Protobuf, .bfbs and Arrow schemas inside are hostile too. Decoders get a body of the original schema.

Input of schema_codecs: number of the body, document.
"""

import ast
import base64
import contextlib
import json
import random
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from fuzz import bodies, structured
from fuzz.counted import ENCODINGS, Counted
from slipring._bus.schema.codec import Decoder, Encoder
from slipring._bus.schema.compatibility import check_same
from slipring._bus.schema.row_batches import BatchDecoder
from slipring._bus.schema.topic_schema import Schema
from slipring.errors import BadArgument, Corrupt, SchemaMismatch, Undecodable

SHARES = {"schema_documents": 0.6, "schema_codecs": 0.08}
TYPES = [
    "int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "bool", "str", "bytes", "str[<=3]", "str[<=0]",
    "bytes[2]",
    "bytes[<=4]", "bytes[16777217]", "timestamp[us]", "timestamp[ns]", "duration[us]", "duration[ns]",
    "date", "uuid", "decimal(10, 2)", "decimal(38,38)", "decimal(2, 3)", "int128",
]  # fmt: skip
NAMES = [
    "t", "class", "topic", "__x", "T", "int", "datetime", "self", "value", "é", "a b", "x" * 256, "_", "mro", "items",
]  # fmt: skip
EXTRAS = {"arrow": structured.of_offsets, "bfbs": structured.of_offsets, "descriptors": structured.of_fields}
MOST_TEXT = 3000
BYTES = structured.of_bytes(structured.JSON_TOKENS)


def use_document(data: bytes) -> Schema | None:
    """Read a document as each process that opens a topic does."""
    try:
        schema = Schema.from_bytes(data)
    except Corrupt as error:
        assert 0 < len(str(error)) < MOST_TEXT, f"the text of the error has {len(str(error))} characters"
        return None
    assert schema.to_bytes() == data, "another document"
    for part in (schema.fields, schema.ddl, schema.json_schema, schema.hash, schema.defaults, repr(schema)):
        assert part is not None
    json.dumps(schema.json_schema)
    return schema


def use_codecs(data: bytes) -> None:
    """Make everything that a document can be used for."""
    schema = use_document(data[1:])
    if schema is None:
        return
    _check_source(_made(lambda: schema.python) or "")
    for each in (lambda: schema.arrow, lambda: Encoder(schema), lambda: check_same(schema, _other(data[0]))):
        _made(each)
    body = _bodies()[data[0] % len(_bodies())][1]
    for own in (None, _own_class(data[0])):
        decoder = _made(lambda own=own: Decoder(schema, own))
        if decoder is not None:
            with contextlib.suppress(Undecodable):
                decoder.decode(body)
    batches = _made(lambda: BatchDecoder(schema))
    if batches is not None:
        batches.decode([body]).batch.validate(full=True)


def _check_source(source: str) -> None:
    """Check that the source declares classes and enums, and does nothing else."""
    for each in ast.parse(source).body:
        assert isinstance(each, ast.Import | ast.ImportFrom | ast.ClassDef | ast.Assign), ast.unparse(each)
        for inner in each.body if isinstance(each, ast.ClassDef) else []:
            assert isinstance(inner, ast.AnnAssign | ast.Assign), ast.unparse(inner)


def _made(make: Callable[[], Any]) -> Any:
    """Return what it makes, or None for a document whose parts contradict each other."""
    try:
        return make()
    except (Corrupt, SchemaMismatch, BadArgument) as error:
        assert 0 < len(str(error)) < MOST_TEXT, f"the text of the error has {len(str(error))} characters"
        return None


@cache
def _bodies() -> list[tuple[Schema, bytes]]:
    """Return each schema of the decoders' targets, with a body."""
    found = {}
    for encoding in ENCODINGS:
        for case in bodies.cases(encoding):
            found.setdefault(case.schema.to_bytes(), (case.schema, case.good[0]))
    return list(found.values())


def _other(number: int) -> Schema:
    return _bodies()[number % len(_bodies())][0]


def _own_class(number: int) -> Any:
    """Return the class of a subscriber of the schema of this number."""
    others = {"numpy": bodies.FixedView, "arrow": bodies.RowView}
    schema = _other(number)
    return schema.declared if schema.bound is not None else others.get(schema.encoding, bodies.MessageView)


def _canonical(tree: Any) -> bytes:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@lru_cache(1000)
def _understood(data: bytes) -> tuple[dict[str, Any], list[Any], str, bytes]:
    """Return the object of a document, its parts, and name and content of what another library reads in it."""
    tree = json.loads(data)
    if not isinstance(tree, dict):
        raise ValueError
    extra = next((key for key in EXTRAS if type(tree.get(key)) is str), "")
    return tree, _parts(tree), extra, base64.b64decode(tree[extra]) if extra else b""


def mutate_document(dice: random.Random, data: bytes) -> bytes:
    """Change types, names, defaults or what an encoding has besides; the document is canonical in most cases."""
    if dice.random() < 0.15:
        return BYTES(dice, data)
    try:
        tree, parts, extra, content = _understood(data)
        if extra and dice.random() < 0.6:
            return _canonical({**tree, extra: base64.b64encode(EXTRAS[extra](dice, content)).decode()})
        junk = structured.picked(dice, (structured.JUNK, TYPES, TYPES, NAMES, parts))
        for _ in range(1 if dice.random() < 0.7 else 2):
            tree = structured.twisted(dice, tree, junk)
        return _canonical(tree)
    except (ValueError, RecursionError):
        return BYTES(dice, data)


def _parts(tree: Any) -> list[Any]:
    """Return all dicts and lists inside a document, to put one into another."""
    found, waiting = [tree], [tree]
    while waiting:
        inner = waiting.pop()
        for part in inner.values() if isinstance(inner, dict) else inner:
            if isinstance(part, (dict, list)):
                found.append(part)
                waiting.append(part)
    return found


def _mutate_numbered(dice: random.Random, data: bytes) -> bytes:
    return data[:1] + mutate_document(dice, data[1:])


def target(name: str) -> Counted:
    documents = [schema.to_bytes() for schema, _ in _bodies()]
    if name == "schema_documents":
        return Counted(
            name, SHARES[name], lambda: documents, mutate_document, lambda data: use_document(data) and None
        )
    numbered = [bytes([number]) + data for number, data in enumerate(documents)]
    return Counted(name, SHARES[name], lambda: numbered, _mutate_numbered, use_codecs)
