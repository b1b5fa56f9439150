# SPDX-License-Identifier: Apache-2.0
"""Random types, and random plain values of any type, for hypothesis."""

import datetime
import decimal
import math

from hypothesis import strategies as st

from slipring._bus.schema import field_types as ft
from slipring._bus.schema.topic_schema import Schema

UTC = datetime.UTC
NAMES = st.from_regex(r"[a-z][a-zA-Z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: not ft.bad_name(name) and name.lower() not in ft.OWN_COLUMNS
)
NUMBERS = st.sampled_from(
    [*(ft.Int(b, s) for b in (8, 16, 32, 64) for s in (True, False)), *map(ft.Float, (16, 32, 64))]
)
FIXED = NUMBERS | st.sampled_from(
    [
        ft.Bool(),
        ft.Text(3),
        ft.Bytes(5),
        ft.Bytes(most=4),
        ft.Timestamp("us"),
        ft.Timestamp("ns"),
        ft.Duration("us"),
        ft.Duration("ns"),
    ]
)
ENUMS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=3, unique=True).map(
    lambda values: ft.Enum(tuple((f"N{at}", value) for at, value in enumerate(values)), "Number")
) | st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4), min_size=1, max_size=3, unique=True
).map(lambda values: ft.Enum(tuple((value, value) for value in values)))
LEAVES = (
    FIXED
    | ENUMS
    | st.sampled_from(
        [ft.Text(), ft.Bytes(), ft.Date(), ft.Uuid(), ft.Decimal(5, 2), ft.Decimal(38, 38), ft.Decimal(7, 0)]
    )
)


def structures(items):
    fields = st.lists(st.tuples(NAMES, items), min_size=1, max_size=4, unique_by=lambda pair: pair[0].lower())
    return fields.map(lambda pairs: ft.Struct(tuple(ft.Field(*pair) for pair in pairs), "Part"))


def arrays(items):
    shapes = st.lists(st.integers(1, 3), min_size=1, max_size=2).map(tuple)
    return (
        st.tuples(items, shapes)
        .filter(lambda pair: not isinstance(pair[0], ft.Array))
        .map(lambda p: ft.Array(*p))
    )


def nullable(items):
    return items.filter(lambda kind: not isinstance(kind, ft.Nullable)).map(ft.Nullable)


TYPES = st.recursive(
    LEAVES,
    lambda items: (
        items.map(ft.List) | items.map(ft.Map) | nullable(items) | arrays(items) | structures(items)
    ),
    max_leaves=6,
)
ROOTS = structures(TYPES)
FIXED_ROOTS = structures(st.recursive(FIXED, lambda items: arrays(items) | structures(items), max_leaves=5))


def floats(kind, finite):
    found = st.floats(width=kind.bits, allow_nan=not finite, allow_infinity=not finite)
    return found


def values(kind, finite=False):
    """Plain values of a type."""
    match kind:
        case ft.Int():
            return st.integers(kind.lowest, kind.highest)
        case ft.Float():
            return floats(kind, finite)
        case ft.Bool():
            return st.booleans()
        case ft.Text(most=most):
            text = st.text(st.characters(exclude_categories=["Cs"]), max_size=most or 8)
            return text if most is None else text.map(lambda x: x.rstrip("\0"))
        case ft.Bytes(size=size, most=most):
            if size is not None:
                return st.binary(min_size=size, max_size=size)
            blob = st.binary(max_size=most or 8)
            return blob if most is None else blob.map(lambda x: x.rstrip(b"\0"))
        case ft.Timestamp(unit="us"):
            return st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(fold=0))
        case ft.Duration(unit="us"):
            return st.timedeltas(datetime.timedelta(days=-100_000_000), datetime.timedelta(days=100_000_000))
        case ft.Timestamp() | ft.Duration():
            return st.integers(-(1 << 63) + 1, (1 << 63) - 1)  # the lowest is NaT
        case ft.Date():
            return st.dates()
        case ft.Uuid():
            return st.uuids()
        case ft.Decimal(precision=precision, scale=scale):
            most = 10**precision - 1
            context = decimal.Context(prec=60)
            return st.integers(-most, most).map(lambda x: decimal.Decimal(x).scaleb(-scale, context))
        case ft.Enum(values=pairs):
            return st.sampled_from([value for _, value in pairs])
        case ft.Nullable(item=item):
            return st.none() | values(item, finite)
        case ft.List(item=item):
            return st.lists(values(item, finite), max_size=3)
        case ft.Array(shape=shape, row=row):
            return st.lists(values(row, finite), min_size=shape[0], max_size=shape[0])
        case ft.Map(item=item):
            return st.dictionaries(
                st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
                values(item, finite),
                max_size=3,
            )
        case ft.Struct(fields=fields):
            return st.fixed_dictionaries({each.name: values(each.type, finite) for each in fields})
    raise AssertionError(kind)


def same(one, other):
    """Whether two plain values are equal, where NaN equals NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(one[k], other[k]) for k in one)
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def packed_layout(kind, gap=0):
    """The layout of a fixed type, with so many bytes behind each field."""
    from slipring._bus.schema.encodings import numpy_layout

    layout = []

    def size(kind):
        if isinstance(kind, ft.Array):
            return size(kind.item) * math.prod(kind.shape)
        if not isinstance(kind, ft.Struct):
            return numpy_layout._size(kind, iter(()), "")
        place = [0]
        layout.append(place)
        end = 0
        for each in kind.fields:
            place.append(end)
            end += size(each.type) + gap
        place[0] = end
        return end

    size(kind)
    return layout


def schema_of(encoding: str, root: ft.Struct) -> Schema:
    extra = {"layout": packed_layout(root)} if encoding == "numpy" else {}
    return Schema("Made", encoding, root, extra)


@st.composite
def schemas_with_defaults(draw) -> Schema:
    """Draw a schema in which each field is required or has a default."""
    fields = tuple(
        ft.Field(each.name, each.type, draw(st.just(ft.REQUIRED) | values(each.type)))
        for each in draw(ROOTS).fields
    )
    return schema_of("msgpack", ft.Struct(fields, "Made"))
