# SPDX-License-Identifier: Apache-2.0
"""Cells and frames have dtypes: one description for both, and the schema that a topic of this dtype would have."""

import numpy as np
import pytest

import slipring
from slipring._bus.schema.declare import declare

ALIGNED = np.dtype([("a", "u1"), ("b", "<f8"), ("c", "<i2", (2,))], align=True)


def test_padding_is_not_a_field_of_frames_or_cells(bus):
    frames = bus.frames("cam", shape=(4, 5), dtype=ALIGNED)
    publisher, subscriber = frames.publisher(), frames.subscriber()
    with publisher.frame() as array:
        assert array.dtype == ALIGNED
        array["b"] = 2.5
    with subscriber.recv(0) as frame:
        assert frame.array.dtype == ALIGNED and frame.array["b"][3, 4] == 2.5
    cells = bus.cells("pose", ALIGNED)
    writer, reader = cells.writer(), cells.reader()
    writer.put(np.zeros((), ALIGNED)[()])
    assert reader.latest().dtype == ALIGNED


def test_cells_and_frames_have_the_schema_of_their_dtype(bus):
    bus.cells("pose", ALIGNED, shape=3)
    assert bus.schema("pose") == declare(np.dtype((ALIGNED, (3,))), name="Element")
    bus.cells("raw", size=100)
    assert bus.schema("raw") is None
    bus.cells("x", "f8")
    assert bus.schema("x").ddl == "value DOUBLE"
    frames = bus.frames("cam", shape=(4, 5), dtype="u1")
    with frames.publisher() as publisher:
        assert bus.schema("cam") == declare(np.dtype(("u1", (4, 5))), name="Frame")
        assert publisher.streams == ("main",)


def test_the_schema_of_frames_with_several_streams_needs_the_stream(bus):
    shapes = {"rgb": ((4, 5, 3), "u1"), "depth": ((4, 5), "<u2")}
    with bus.frames("cam", streams=shapes).publisher():
        assert bus.schema("cam", "depth").ddl == "value ARRAY<ARRAY<INT>>"
        with pytest.raises(slipring.BadArgument, match="the streams rgb, depth"):
            bus.schema("cam")
        with pytest.raises(slipring.TopicNotFound, match="no stream 'left'"):
            bus.schema("cam", "left")
