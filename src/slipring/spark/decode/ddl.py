# SPDX-License-Identifier: Apache-2.0
"""Parse schemas: "x DOUBLE, tags ARRAY<STRING>", or the JSON of a StructType.

Spark's own parser runs in the JVM, which cannot be reached where a DataFrame's options are checked. Every schema that
this parser accepts has the same meaning for Spark.
"""

from __future__ import annotations

import json
import re

from pyspark.sql import types as T

_SIMPLE: dict[str, T.DataType] = {
    "boolean": T.BooleanType(),
    "byte": T.ByteType(),
    "tinyint": T.ByteType(),
    "short": T.ShortType(),
    "smallint": T.ShortType(),
    "int": T.IntegerType(),
    "integer": T.IntegerType(),
    "long": T.LongType(),
    "bigint": T.LongType(),
    "float": T.FloatType(),
    "real": T.FloatType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
    "binary": T.BinaryType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ltz": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
}
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([A-Za-z_][A-Za-z0-9_]*)|(\d+)|([<>(),:]))")


class BadSchema(ValueError):
    """A text is not a schema; the message names the place."""


def parse(text: str) -> T.StructType:
    if text.lstrip().startswith("{"):
        try:
            return T.StructType.fromJson(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            raise BadSchema(f"it is not the JSON of a StructType: {error}") from None
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._tokens: list[tuple[str, int]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise BadSchema(f"{text[at:].strip()[:20]!r} is not part of a schema")
            self._tokens.append((match[0].strip(), match.end()))
            at = match.end()

    def whole(self) -> T.StructType:
        fields = self._fields("")
        if self._at < len(self._tokens):
            raise self._wrong("a comma or the end")
        return T.StructType(fields)

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _wrong(self, expected: str) -> BadSchema:
        found = self._peek() or "its end"
        return BadSchema(f"{self._text!r} has {found!r} where {expected} is expected")

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise self._wrong(repr(token))
        self._at += 1

    def _fields(self, closing: str) -> list[T.StructField]:
        fields: list[T.StructField] = []
        while self._peek() and self._peek() != closing:
            if fields:
                self._expect(",")
            if not re.match(r"[A-Za-z_`]", self._peek()):
                raise self._wrong("the name of a column")
            name = self._next()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            if self._peek() == ":":
                self._at += 1
            fields.append(T.StructField(name, self._type(), True))
        return fields

    def _type(self) -> T.DataType:
        word = self._peek().lower()
        if word in _SIMPLE:
            self._at += 1
            return _SIMPLE[word]
        compound = {
            "array": self._array,
            "map": self._map,
            "struct": self._struct,
            "decimal": self._decimal,
            "interval": self._interval,
        }
        if word not in compound:
            raise self._wrong(f"a type (one of {', '.join([*_SIMPLE, *compound])})")
        self._at += 1
        return compound[word]()

    def _array(self) -> T.DataType:
        self._expect("<")
        element = self._type()
        self._expect(">")
        return T.ArrayType(element, True)

    def _map(self) -> T.DataType:
        self._expect("<")
        key = self._type()
        self._expect(",")
        value = self._type()
        self._expect(">")
        return T.MapType(key, value, True)

    def _struct(self) -> T.DataType:
        self._expect("<")
        fields = self._fields(">")
        self._expect(">")
        return T.StructType(fields)

    def _interval(self) -> T.DataType:
        for word in ("day", "to", "second"):
            if self._next().lower() != word:
                self._at -= 1
                raise self._wrong("DAY TO SECOND")
        return T.DayTimeIntervalType()

    def _decimal(self) -> T.DataType:
        if self._peek() != "(":
            return T.DecimalType(10, 0)
        self._at += 1
        numbers = []
        while True:
            if not self._peek().isdigit():
                raise self._wrong("a number of digits")
            numbers.append(int(self._next()))
            if self._peek() != "," or len(numbers) == 2:
                break
            self._at += 1
        self._expect(")")
        precision, scale = numbers[0], (*numbers, 0)[1]
        if not 0 < precision <= 38 or scale > precision:
            raise BadSchema(
                f"decimal({precision},{scale}): precision must be 1 to 38, and scale at most the precision"
            )
        return T.DecimalType(precision, scale)
