# SPDX-License-Identifier: Apache-2.0
"""What cells hold: numpy values of any plain dtype and shape, or bytes; what does not fit is refused."""

import numpy as np
import pytest

import slipring

pytestmark = pytest.mark.needs("cells")

POSE = np.dtype(
    [("stamp", "u8"), ("xyz", "f4", (3,)), ("flags", [("ok", "?"), ("level", "i2")]), ("tag", "S4")]
)
VALUES = [
    ("f8", (), 1.5),
    ("f4", (), np.float32(2.5)),
    ("i8", (), -(2**63)),
    ("u1", (), 255),
    ("?", (), True),
    ("c16", (), 1 + 2j),
    (">i4", (), 7),
    ("S5", (), b"abc"),
    ("U3", (), "äöü"),
    ("M8[ns]", (), np.datetime64("2026-01-01T00:00:00", "ns")),
    ("f8", (3,), np.arange(3.0)),
    ("u1", (2, 3), np.arange(6, dtype="u1").reshape(2, 3)),
    ("f4", (4, 5, 6), np.arange(120, dtype="f4").reshape(4, 5, 6)),
    (POSE, (), np.array((9, (1, 2, 3), (True, -5), b"tag"), POSE)),
    (POSE, (2,), np.zeros(2, POSE)),
    (np.dtype([("a", "u1"), ("b", "f8")], align=True), (), (1, 2.0)),
    (np.dtype(("f4", (3,))), (), np.arange(3, dtype="f4")),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "shape", "value"), VALUES, ids=lambda v: str(v)[:20].replace("\n", " "))
def test_a_value_arrives_as_it_was_put(bus, dtype, shape, value):
    cells = bus.cells("c", dtype=dtype, shape=shape, depth=2)
    other = bus.cells("c")
    assert (other.dtype, other.shape) == (cells.dtype, cells.shape)
    writer, reader = cells.writer(), other.reader()
    writer.put(value)
    with writer.slot() as view:
        view[...] = value
    for found in [*reader.snapshot(), reader.latest(again=True)]:
        assert np.array_equal(found, np.asarray(value, cells.dtype))
        assert np.asarray(found).dtype.kind == cells.dtype.kind
        assert np.shape(found) == cells.shape


@pytest.mark.parametrize(
    ("dtype", "shape", "value"),
    [
        ("f8", (), [1.0, 2.0]),
        ("f8", (), "text"),
        ("f8", (), 1j),
        ("f8", (), np.zeros(3)),
        ("i4", (), 1.5),
        ("i4", (), np.float64(1)),
        ("i4", (), 2**40),
        ("u1", (), -1),
        ("f8", (3,), 1.0),
        ("f8", (3,), [1, 2]),
        ("f8", (3,), np.zeros((3, 1))),
        ("i4", (3,), [1.5, 2, 3]),
        ("i4", (3,), np.zeros(3, "f8")),
        (POSE, (), np.zeros((), "f8")),
        (POSE, (), (1, 2)),
        (POSE, (2,), np.zeros(2, "u1")),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_nothing_is_put(bus, dtype, shape, value):
    cells = bus.cells("c", dtype=dtype, shape=shape)
    writer, reader = cells.writer(), cells.reader()
    with pytest.raises(slipring.BadArgument) as caught:
        writer.put(value)
    assert caught.value.argument == "value"
    assert reader.latest() is None
    writer.put(np.zeros(shape, dtype)[()])
    assert cells.stats()["puts"] == 1


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"dtype": "O"}, "dtype"),
        ({"dtype": [("a", "O")]}, "dtype"),
        ({"dtype": "S0"}, "dtype"),
        ({"dtype": "no such thing"}, "dtype"),
        ({"dtype": [(f"field{n}", "f8") for n in range(200)]}, "dtype"),
        ({"dtype": "f8", "shape": (3, 0)}, "shape"),
        ({"dtype": "f8", "shape": (2**40,)}, "shape"),
        ({"dtype": "f8", "size": 8}, "size"),
        ({"shape": 3}, "shape"),
        ({"size": 0}, "size"),
        ({"size": 8, "depth": 0}, "depth"),
        ({"size": 8, "depth": 65537}, "depth"),
        ({"size": 8, "mode": 0o1000}, "mode"),
        ({"size": 8, "mode": 0o400}, "mode"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(bus, settings, argument):
    with pytest.raises(slipring.BadArgument) as caught:
        bus.cells("c", **settings)
    assert caught.value.argument == argument
    assert bus.contents() == {}


def test_bytes_arrive_as_they_were_put(bus):
    cells = bus.cells("c", size=5, depth=2)
    writer, reader = cells.writer(), cells.reader()
    for value in (b"first", bytearray(b"other"), memoryview(b"third"), np.frombuffer(b"forth", "u1")):
        writer.put(value)
    assert reader.snapshot() == [b"third", b"forth"]
    with writer.slot() as view:
        view[:] = b"filed"
    assert [bytes(view) for view in reader.snapshot(copy=False)] == [b"filed"]
    assert (cells.dtype, cells.shape, cells.size) == (None, (), 5)


def test_bytes_of_another_length_are_refused(bus):
    cells = bus.cells("c", size=5)
    writer, reader = cells.writer(), cells.reader()
    with pytest.raises(slipring.TooLarge):
        writer.put(b"longer")
    with pytest.raises(slipring.BadArgument):
        writer.put(b"less")
    with pytest.raises(TypeError):
        writer.put("texts")
    assert reader.snapshot() == []


def test_slices_of_a_bytes_slot_keep_it_from_being_put(bus):
    cells = bus.cells("c", size=4)
    writer, reader = cells.writer(), cells.reader()
    with pytest.raises(BufferError, match="nothing was put"), writer.slot() as view:
        part = view[1:]
    with pytest.raises(ValueError, match="released"):
        view[0] = 1
    del part
    writer.put(b"next")
    assert reader.snapshot() == [b"next"]


def test_a_large_element_is_passed_in_place_without_a_copy(bus):
    cells = bus.cells("c", dtype="u1", shape=(1 << 20,), depth=1)
    writer, reader = cells.writer(), cells.reader()
    with writer.slot() as view:
        view[:] = 5
        filled = view.__array_interface__["data"][0]
    assert not view.flags.owndata
    seen = reader.latest(copy=False)
    assert not seen.flags.owndata
    assert seen.sum() == 5 << 20
    assert filled != 0


def test_bytes_cells_refuse_a_buffer_of_objects(bus):
    cells = bus.cells("c", size=8)
    with pytest.raises(TypeError, match="objects or pointers"):
        cells.writer().put(np.array([None]))
    assert cells.stats()["puts"] == 0
