# SPDX-License-Identifier: Apache-2.0
"""Offsets as JSON: canonical and versioned; the start of a batch when the start of a stream is not stable."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipring.spark.source import offsets
from slipring.spark.source.offsets import BadOffsets, Position

DOCUMENTED = (
    '{"slipring": 1, "topics": {"imu": {"generation": "00c0ffee00c0ffee", "next": 123, "origin": 100}}}'
)
names = st.text("abcdefgh_.-", min_size=1, max_size=8)


@st.composite
def positions(draw):
    origin = draw(st.integers(0, 2**62))
    return Position(draw(st.integers(0, 2**64 - 1)), origin + draw(st.integers(0, 2**62 - 1)), origin)


def test_offsets_are_written_as_documented():
    written = offsets.dump({"imu": Position(0xC0FFEE00C0FFEE, 123, 100)})
    assert json.dumps(written) == DOCUMENTED
    assert offsets.load(json.loads(DOCUMENTED)) == {"imu": Position(0xC0FFEE00C0FFEE, 123, 100)}


@given(st.dictionaries(names, positions(), max_size=4))
def test_equal_offsets_have_equal_text_and_load_again(found):
    text = json.dumps(offsets.dump(found))
    backwards = dict(reversed(list(found.items())))
    assert json.dumps(offsets.dump(backwards)) == text
    back = offsets.load(json.loads(text))
    assert back == found and json.dumps(offsets.dump(back)) == text


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {"partition": 1},
        {"slipring": 2, "topics": {}},
        {"slipring": 1},
        {"slipring": 1, "topics": {"imu": 3}},
        {"slipring": 1, "topics": {"imu": {"generation": "0" * 16, "next": 1}}},
        {"slipring": 1, "topics": {"imu": {"generation": "0" * 15, "next": 1, "origin": 1}}},
        {"slipring": 1, "topics": {"imu": {"generation": "x" * 16, "next": 1, "origin": 1}}},
        {"slipring": 1, "topics": {"imu": {"generation": "0" * 16, "next": 1.5, "origin": 1}}},
        {"slipring": 1, "topics": {"imu": {"generation": "0" * 16, "next": True, "origin": 0}}},
        {"slipring": 1, "topics": {"imu": {"generation": "0" * 16, "next": 1, "origin": 2}}},
        {"slipring": 1, "topics": {"imu": {"generation": "0" * 16, "next": -1, "origin": -1}}},
    ],
    ids=str,
)
def test_invalid_offsets_are_refused(raw):
    with pytest.raises(BadOffsets):
        offsets.load(raw)


def test_a_batch_begins_at_the_end_of_the_previous_batch():
    assert offsets.beginning(Position(1, 150, 100), Position(1, 200, 100)) == 150


def test_a_start_that_spark_requested_twice_is_the_logged_one():
    assert offsets.beginning(Position(1, 160, 160), Position(1, 150, 100)) == 100
    assert offsets.beginning(Position(1, 90, 90), Position(1, 150, 100)) == 100


def test_a_new_or_replaced_topic_begins_at_its_origin():
    assert offsets.beginning(None, Position(1, 150, 0)) == 0
    assert offsets.beginning(Position(1, 500, 0), Position(2, 150, 0)) == 0
