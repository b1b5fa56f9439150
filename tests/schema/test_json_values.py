# SPDX-License-Identifier: Apache-2.0
"""Plain values as JSON: any value comes back, and has the form that the JSON Schema describes."""

import contextlib
import datetime
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slipring
from schema import strategies
from slipring._bus.schema import field_types as ft
from slipring._bus.schema.codec import Decoder, Encoder, plain_decoder
from slipring._bus.schema.json_values import from_json, iso, to_json
from slipring._bus.schema.plain_values import to_plain


@given(st.data())
def test_any_value_comes_back_from_json(data):
    schema = strategies.schema_of("msgpack", data.draw(strategies.ROOTS))
    value = data.draw(strategies.values(schema.root))
    text = json.dumps(to_json(schema.root, value), allow_nan=False)
    assert strategies.same(to_plain(schema.root, from_json(schema.root, json.loads(text))), value)


@given(st.data())
def test_finite_values_are_what_encoding_json_reads(data):
    schema = strategies.schema_of("json", data.draw(strategies.ROOTS))
    value = data.draw(strategies.values(schema.root, finite=True))
    body = json.dumps(to_json(schema.root, value)).encode()
    assert strategies.same(Decoder(schema).decode(body), value)


@given(st.data())
def test_a_fixed_layout_has_the_plain_values_of_any_other_encoding(data):
    kind = data.draw(st.lists(strategies.FIXED, min_size=1, max_size=4))
    fields = tuple(ft.Field(f"f{at}", each) for at, each in enumerate(kind))
    schema = strategies.schema_of("numpy", ft.Struct(fields, "Record"))
    value = data.draw(strategies.values(schema.root))
    assert strategies.same(plain_decoder(schema)(Encoder(schema).encode(value)), value)


@given(st.timedeltas())
def test_durations_have_the_form_of_encoding_json(length):
    assert msgspec.convert(iso(length), datetime.timedelta) == length
    assert from_json(ft.Duration(), iso(length)) == length


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "1.5", "P1W", "PT1.1234567S", "P1DT", "PT٣S", "P" + "9" * 5000 + "D"]
)
def test_a_text_that_is_not_a_duration_is_refused(text):
    with pytest.raises(slipring.BadArgument, match=r"a\[0\]=.* must be duration\[us\]: ISO 8601"):
        from_json(ft.List(ft.Duration()), [text], "a")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)), strategies.ROOTS)  # fmt: skip
def test_any_json_is_a_value_or_a_bad_argument(found, root):
    with contextlib.suppress(slipring.BadArgument):
        to_plain(root, from_json(root, found))
