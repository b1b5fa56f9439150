# SPDX-License-Identifier: Apache-2.0
"""Bodies of fixed layouts as columns, and back, by the compiled part: the same values as field by field."""

import gc
import math
import mmap
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import slipring
from schema import strategies
from slipring._bus.native import _native
from slipring._bus.schema import field_types as ft
from slipring._bus.schema.declare import declare
from slipring._bus.schema.encodings import numpy_layout
from slipring._bus.schema.row_batches import BatchDecoder, decode_batch, rows_to_records
from slipring._bus.schema.topic_schema import Schema

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
NAT = -(1 << 63)


def plain(kind, value):
    """A record of numpy as pyarrow takes it, with None for NaT."""
    match kind:
        case ft.Struct(fields=fields):
            return {each.name: plain(each.type, value[each.name]) for each in fields}
        case ft.Array(row=inner):
            return [plain(inner, each) for each in value]
        case ft.Timestamp() | ft.Duration():
            number = int(value.astype("i8"))
            return None if number == NAT else number
        case ft.Bytes():
            return bytes(value)
        case ft.Float(bits=16):
            return value
    return value.item()


def expected(schema, array):
    columns = []
    for (name, kind), field in zip(schema.fields, schema.arrow, strict=True):
        part = array[name] if isinstance(schema.root, ft.Struct) else array
        columns.append(pa.array([plain(kind, each) for each in part], field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema.arrow)


def fill(target, source):
    """Copy the fields of records, not the bytes between them."""
    if target.dtype.names is None:
        target[...] = source
        return
    for name in target.dtype.names:
        fill(target[name], source[name])


def bodies_of(array):
    """The bodies of records, with zeros between the fields."""
    raw = bytearray(array.nbytes)
    bare = np.frombuffer(raw, array.dtype).reshape(array.shape)
    fill(bare, array)
    return bytes(raw)


def storable(kind, value):
    """Plain values of the strategies as numpy takes them; a moment is NaT now and then."""
    match kind:
        case ft.Struct(fields=fields):
            return tuple(storable(each.type, value[each.name]) for each in fields)
        case ft.Array(row=inner):
            return [storable(inner, each) for each in value]
        case ft.Timestamp(unit=unit) | ft.Duration(unit=unit):
            number = hash(value)
            make = np.datetime64 if isinstance(kind, ft.Timestamp) else np.timedelta64
            return make("NaT" if number % 4 == 0 else number, unit)
        case ft.Bytes(size=size) if size is not None:
            return np.void(value)
    return value


@st.composite
def tables(draw):
    """A schema whose fields have gaps between them, and an array of its records with noise in the gaps."""
    root = draw(strategies.FIXED_ROOTS)
    layout = strategies.packed_layout(root, gap=draw(st.integers(0, 3)))
    schema = Schema("Made", "numpy", root, {"layout": layout})
    values = draw(st.lists(strategies.values(root, finite=True), min_size=1, max_size=4))
    times = draw(st.sampled_from([1, 5, 70]))
    dtype = numpy_layout.to_dtype(schema)
    raw = bytearray(b"\xa5") * (dtype.itemsize * len(values))  # copies of the array would lose the gaps
    fill(np.frombuffer(raw, dtype), np.array([storable(root, value) for value in values], dtype))
    return schema, np.frombuffer(raw * times, dtype)


@given(tables(), st.data())
@settings(QUICK)
def test_the_columns_of_any_fixed_layout_have_the_values_of_its_records(table, data):
    schema, array = table
    size, count = array.dtype.itemsize, len(array)
    raw = array.tobytes()
    bodies = [raw[at * size : (at + 1) * size] for at in range(count)]
    first = data.draw(st.integers(0, count))
    last = data.draw(st.integers(first, count))
    kind = data.draw(st.sampled_from([pa.binary(), pa.large_binary()]))
    decoder = BatchDecoder(schema)
    found = decoder.decode(pa.array(bodies, kind)[first:last])
    found.batch.validate(full=True)
    assert (found.rows, found.bad) == (None, {})
    assert found.batch.equals(expected(schema, array[first:last]))
    assert decoder.decode(bodies).batch.equals(expected(schema, array))


@given(tables(), st.data())
@settings(QUICK)
def test_slices_of_columns_become_the_bodies_of_their_rows(table, data):
    schema, array = table
    first = data.draw(st.integers(0, len(array)))
    last = data.draw(st.integers(first, len(array)))
    batch = expected(schema, array).slice(first, last - first)
    records = rows_to_records(schema, batch)
    assert bytes(records) == bodies_of(array[first:last])
    decoded = decode_batch(schema, pa.array([array[at].tobytes() for at in range(len(array))], pa.binary()))
    assert bytes(rows_to_records(schema, decoded.batch.slice(first, last - first))) == bytes(records)


PART = np.dtype([("ok", "?"), ("when", "M8[us]"), ("x", "<i2"), ("tag", "S3"), ("word", "U2")])
NESTED = np.dtype(
    [
        ("t", "<f8"),
        ("flags", "?", (3,)),
        ("parts", PART, (2, 2)),
        ("inner", [("rows", [("v", "<f4", (5,)), ("more", PART, (2,))], (3,))]),
        ("wide", "<u2", (40,)),
    ],
    align=True,
)


def nested(count):
    """Records of random bytes, with text that Unicode has."""
    rng = np.random.default_rng(count)
    array = rng.integers(0, 256, count * NESTED.itemsize, np.uint8).view(NESTED)
    for parts in (array["parts"], array["inner"]["rows"]["more"]):
        parts["word"] = rng.choice(["", "a", "ü", "\0x", "𝄞€"], parts.shape)
        parts["tag"] = rng.choice([b"", b"\0a", b"abc"], parts.shape)
        parts["when"] = np.where(
            rng.integers(0, 3, parts.shape) == 0, np.datetime64("NaT", "us"), np.datetime64(5, "us")
        )
    for floats in (array["t"], array["inner"]["rows"]["v"]):
        floats[...] = rng.integers(-9, 9, floats.shape)
    return array


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 255, 257, 1000])
def test_arrays_of_structures_are_dense_columns(count):
    schema, array = declare(NESTED), nested(count)
    bodies = pa.array([array[at].tobytes() for at in range(count)], pa.binary())
    found = decode_batch(schema, bodies)
    found.batch.validate(full=True)
    assert found.rows is None
    array["flags"] = array["flags"].view("u1") != 0
    for parts in (array["parts"], array["inner"]["rows"]["more"]):
        parts["ok"] = parts["ok"].view("u1") != 0
    assert found.batch.equals(expected(schema, array))
    assert bytes(rows_to_records(schema, found.batch)) == bodies_of(array)


def test_a_bad_body_among_many_leaves_the_other_rows():
    schema, array = declare(NESTED), nested(1000)
    bodies = [array[at].tobytes() for at in range(1000)]
    word = NESTED.fields["parts"][1] + PART.fields["word"][1]
    bodies[500] = bodies[500][:word] + struct.pack("<I", 0xD800) + bodies[500][word + 4 :]
    bodies[700] += b"x"
    found = decode_batch(schema, pa.array(bodies, pa.binary()))
    assert sorted(found.bad) == [500, 700]
    assert "parts[].word" in str(found.bad[500])
    good = [at for at in range(1000) if at not in found.bad]
    assert found.rows == good
    assert found.batch.equals(decode_batch(schema, [bodies[at] for at in good]).batch)


def test_every_character_of_unicode_and_no_other_number_is_text():
    schema = declare(np.dtype([("word", "U2")]))
    for code in (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF):
        found = decode_batch(schema, [struct.pack("<II", 0, code)])
        assert found.batch.to_pydict() == {"word": ["\0" + chr(code)]}
    for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x110000, 0x1FFFFF, 0xFFFFFFFF):
        found = decode_batch(schema, [struct.pack("<II", code, 0)])
        assert (found.batch.num_rows, found.bad[0].field) == (0, "word")


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("U2", "abc"), ("U2", "a\0"), ("S2", b"abc"), ("S2", b"a\0")],
)
def test_text_that_a_record_has_no_room_for_is_refused(dtype, value):
    schema = declare(np.dtype([("t", "<f8"), ("p", [("name", dtype)])]))
    rows = pa.record_batch(
        [pa.array([1.0]), pa.array([{"name": value}], schema.arrow.field("p").type)], schema=schema.arrow
    )
    with pytest.raises(slipring.BadArgument, match="2") as caught:
        rows_to_records(schema, rows)
    assert caught.value.argument == "p.name"


def test_columns_keep_their_memory_while_others_are_decoded():
    schema = declare(np.dtype([("a", "<i8"), ("b", "?")]))
    decoder = BatchDecoder(schema)

    def batch(value):
        return decoder.decode(pa.array([struct.pack("<q?", value, value % 2)] * 5000, pa.binary())).batch

    kept = batch(1)["a"][4000:]
    records = rows_to_records(schema, batch(7))
    for value in range(2, 40):
        batch(value)
    gc.collect()
    assert kept.to_pylist() == [1] * 1000
    assert bytes(records) == struct.pack("<q?", 7, 1) * 5000


# The compiled part alone -----------------------------------------------------------------------------------------

WORST = [-(1 << 63), -1, 0, 1, 2, 3, 7, 8, 9, 16, 31, 32, 33, 1 << 31, (1 << 62) + 1, (1 << 63) - 1]
NUMBERS = st.sampled_from(WORST) | st.integers(0, 40)
KINDS = st.sampled_from(["copy", "bits", "valid", "bytes", "text"])
LEAVES = st.tuples(KINDS, NUMBERS, NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=3).map(tuple))
SMALL = st.integers(1, 4)
FITTING = st.tuples(
    st.sampled_from(
        [("copy", 1), ("copy", 3), ("copy", 12), ("bits", 1), ("valid", 8), ("bytes", 5), ("text", 8)]
    ),
    st.integers(0, 6),
    st.lists(st.tuples(SMALL, st.integers(1, 30)), max_size=3).map(tuple),
).map(lambda leaf: (leaf[0][0], leaf[1], leaf[0][1], leaf[2]))


def items(leaf, row):
    """The items of a leaf in a row."""
    _, offset, width, loops = leaf
    places = [offset]
    for count, stride in loops:
        places = [place + at * stride for place in places for at in range(count)]
    return [row[place : place + width] for place in places]


def column(leaf, rows):
    """The buffers that `split` makes for a leaf."""
    kind, found = leaf[0], [item for row in rows for item in items(leaf, row)]
    if kind == "copy":
        return [b"".join(found)]
    if kind in ("bits", "valid"):
        bits = [any(item) if kind == "bits" else item != struct.pack("<q", NAT) for item in found]
        packed = np.packbits(np.array(bits, bool), bitorder="little").tobytes()
        return [None if kind == "valid" and all(bits) else packed]
    texts = [item.rstrip(b"\0") for item in found]
    if kind == "text":
        texts = [item.decode("utf-32-le").rstrip("\0").encode() for item in found]
    ends = np.cumsum([0, *map(len, texts)]).astype("<i4").tobytes()
    return [ends, b"".join(texts)]


@given(st.integers(1, 200), st.lists(FITTING | LEAVES, max_size=5), st.integers(0, 20), st.randoms())
@settings(QUICK, max_examples=400)
def test_a_layout_of_any_leaves_is_refused_or_stays_inside_its_rows(size, leaves, count, random):
    try:
        layout = _native.RecordLayout(size, tuple(leaves))
    except slipring.BadArgument:
        return
    rows = [
        bytes(random.choice(b"\0\0\0ax") if at % 4 == 0 else 0 for at in range(size)) for _ in range(count)
    ]
    rows = [
        row if at % 3 else struct.pack("<q", NAT)[: len(row)].ljust(size, b"\0")
        for at, row in enumerate(rows)
    ]
    try:
        wanted = [each for leaf in leaves for each in column(leaf, rows)]
    except UnicodeDecodeError:
        wanted = None
    found = layout.split(b"".join(rows), count)
    if wanted is not None:
        assert [None if each is None else bytes(each) for each in found] == wanted


@given(st.integers(1, 200), st.lists(FITTING, max_size=4), st.integers(0, 20), st.randoms(), st.data())
@settings(QUICK, max_examples=300)
def test_joined_rows_have_the_items_of_the_last_leaf_and_zeros_elsewhere(size, leaves, count, random, data):
    leaves = [leaf for leaf in leaves if leaf[0] not in ("bytes", "text")]
    try:
        layout = _native.RecordLayout(size, tuple(leaves))
    except slipring.BadArgument:
        return
    wanted = [bytearray(size) for _ in range(count)]
    sources = []
    for leaf in leaves:
        kind, _, width, loops = leaf
        length = count * math.prod(each for each, _ in loops)
        start = data.draw(st.integers(0, 20))
        raw = random.randbytes(start + length * width)
        if data.draw(st.integers(0, 5)) == 0:
            sources.append(None)
            continue
        sources.append((raw, start))
        bits = np.unpackbits(np.frombuffer(raw, "u1"), bitorder="little")[start:]
        places = iter(range(length))
        for row in wanted:
            targets = items(leaf, memoryview(row))
            for target in targets:
                at = next(places)
                if kind == "copy":
                    target[:] = raw[start + at * width :][:width]
                elif kind == "bits":
                    target[0] = bits[at]
                elif not bits[at]:
                    target[:] = struct.pack("<q", NAT)
    assert bytes(layout.join(tuple(sources), count)) == b"".join(wanted)


@given(st.lists(st.none() | st.tuples(st.binary(max_size=40), NUMBERS), max_size=4), NUMBERS)
@settings(QUICK, max_examples=300)
def test_columns_that_are_too_short_are_refused(sources, rows):
    leaves = (("copy", 0, 4, ((2, 4),)), ("bits", 8, 1, ()), ("valid", 0, 8, ()))
    layout = _native.RecordLayout(9, leaves)
    try:
        found = layout.join(tuple(sources), rows)
    except slipring.BadArgument:
        return
    except MemoryError:
        assert rows > 1 << 30 and sources == [None] * 3
        return
    assert len(found) == 9 * rows and len(sources) == 3
    for (_, _, width, loops), source in zip(leaves, sources, strict=True):
        assert source is None or 0 <= source[1] <= 8 * len(source[0]) - rows * width * len(loops)


@pytest.mark.parametrize(
    ("size", "leaves", "error"),
    [
        (0, (), slipring.BadArgument),
        (1 << 31, (), slipring.BadArgument),
        (1 << 70, (), OverflowError),
        (8, [], TypeError),
        (8, (5,), TypeError),
        (8, (("copy", 0, 8),), TypeError),
        (8, (("copy", 0, 8, [(1, 1)]),), TypeError),
        (8, (("copy", 0, 8, (5,)),), TypeError),
        (8, (("copy", 0, "8", ()),), TypeError),
        (8, (("other", 0, 8, ()),), slipring.BadArgument),
        (8, (("copy", 1, 8, ()),), slipring.BadArgument),
        (8, (("copy", -1, 8, ()),), slipring.BadArgument),
        (8, (("copy", 0, 0, ()),), slipring.BadArgument),
        (8, (("bits", 0, 2, ()),), slipring.BadArgument),
        (8, (("valid", 0, 4, ()),), slipring.BadArgument),
        (8, (("text", 0, 6, ()),), slipring.BadArgument),
        (8, (("copy", 0, 1, ((9, 1),)),), slipring.BadArgument),
        (8, (("copy", 0, 1, ((2, 0),)),), slipring.BadArgument),
        (8, (("copy", 0, 1, ((0, 1),)),), slipring.BadArgument),
        (8, (("copy", 0, 1, ((3, 1), (3, 1))),), slipring.BadArgument),
        (8, (("copy", 0, 1, ((1, 1),) * 33),), slipring.BadArgument),
        ((1 << 31) - 1, (("copy", 0, 1, (((1 << 31) - 1, (1 << 31) - 1),) * 2),), slipring.BadArgument),
    ],
)
def test_a_layout_outside_of_its_rows_is_refused(size, leaves, error):
    with pytest.raises(error):
        _native.RecordLayout(size, leaves)


def test_data_and_columns_of_other_sizes_and_kinds_are_refused():
    layout = _native.RecordLayout(8, (("copy", 0, 8, ()),))
    for data, rows in ((b"x" * 8, 0), (b"x" * 8, 2), (b"x" * 7, 1), (b"", -1), (b"", (1 << 63) - 1)):
        with pytest.raises(slipring.BadArgument):
            layout.split(data, rows)
    for data in ("x" * 8, 8, None, np.array([object()]), np.zeros((2, 8), "u1")[:, ::2]):
        with pytest.raises((TypeError, ValueError, BufferError)):
            layout.split(data, 1)
    for sources in ((), (None, None)):
        with pytest.raises(slipring.BadArgument, match="sources are given"):
            layout.join(sources, 1)
    for sources in ([None], (b"x" * 8,), ((b"x" * 8,),), (("x", 0),), ((np.array([object()]), 0),)):
        with pytest.raises(TypeError):
            layout.join(sources, 1)
    bits = _native.RecordLayout(8, (("bits", 0, 1, ((8, 1),)),))
    for kind, start in ((layout, 1), (layout, 17), (bits, 57), (bits, 65)):
        for wrong in (start, -1, -(1 << 63), (1 << 63) - 1):
            with pytest.raises(slipring.BadArgument, match="a column of 8 bytes has no"):
                kind.join(((b"x" * 8, wrong),), 1)
    assert bytes(bits.join(((b"x" * 7 + b"\x81", 56),), 1)) == b"\1\0\0\0\0\0\0\1"
    with pytest.raises(slipring.BadArgument, match="kind text cannot be joined"):
        _native.RecordLayout(8, (("text", 0, 8, ()),)).join(((b"x" * 8, 0),), 1)
    assert layout.split(b"", 0)[0] == b"" and bytes(layout.join((None,), 2)) == bytes(16)


def test_texts_beyond_the_offsets_of_arrow_are_refused():
    layout = _native.RecordLayout(1 << 20, (("bytes", 0, 1 << 20, ()),))
    with mmap.mmap(-1, 1 << 31) as memory, pytest.raises(slipring.BadArgument, match="decode fewer rows"):
        layout.split(memory, 1 << 11)
