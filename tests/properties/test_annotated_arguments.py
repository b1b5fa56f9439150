# SPDX-License-Identifier: Apache-2.0
"""Arguments of annotated methods: whatever fits arrives as it was sent, and no bytes are dangerous (inv. 7)."""

import dataclasses

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from schema import strategies
from slipring._bus.calls.codecs import Msgpack
from slipring._bus.calls.server.annotated_methods import prepare
from slipring._bus.calls.server.method_call import WrongArgument
from slipring._bus.schema.bound_classes import plain
from slipring._bus.schema.encodings import msgspec_bodies
from slipring.errors import Undecodable
from support.annotated import ORDER, Order, Pose

CODEC = Msgpack()


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_value_of_any_type_arrives_as_it_was_sent(data):
    kind = data.draw(strategies.TYPES)
    value = data.draw(strategies.values(kind))
    bound = dataclasses.replace(plain(kind), native=False)
    body = msgspec_bodies.value_encoder(kind, bound)(value)
    found = msgspec_bodies.value_decoder(kind, bound, CODEC.decode_value)(body)
    assert strategies.same(found, value)


SOME = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.text(max_size=4), items, max_size=4),
    max_leaves=8,
)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_value_that_does_not_fit_any_type_is_an_error_with_its_field(data):
    kind = data.draw(strategies.TYPES)
    bound = dataclasses.replace(plain(kind), native=False)
    try:
        msgspec_bodies.value_decoder(kind, bound, CODEC.decode_value)(CODEC.encode_value(data.draw(SOME)))
    except Undecodable as error:
        assert error.field


def take(order: Order, pose: Pose | None = None, *rest: int, **more: bytes) -> None: ...


DECODE = prepare(take, "take", CODEC).decode
VALID = CODEC.encode_arguments((ORDER, Pose(1.0), 5), {"more": b"x"})


def taken(body):
    """Return the arguments if they fit; nothing but these errors may come of any bytes."""
    try:
        args, kwargs = DECODE(memoryview(body))
    except (WrongArgument, msgspec.MsgspecError, UnicodeDecodeError):
        return
    assert all(map(isinstance, args, (Order, Pose | None, *[int] * len(args))))
    assert all(isinstance(each, (Order, Pose, bytes, type(None))) for each in kwargs.values())


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_bytes_are_taken_for_arguments_that_do_not_fit(body):
    taken(body)


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=500, deadline=None)
def test_damaged_arguments_are_refused_or_fit(changes):
    body = bytearray(VALID)
    for at, byte in changes:
        body[at] = byte
    taken(bytes(body))
