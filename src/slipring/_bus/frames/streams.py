# SPDX-License-Identifier: Apache-2.0
"""The arguments that describe streams of frames, checked and converted for the core.

shape=(720, 1280, 3), dtype="u1", buffers=4                   one stream, "main"
streams=("left", "right"), shape=…                            several alike
streams={"rgb": ((720, 1280, 3), "u1"), "depth": {"shape": (720, 1280), "dtype": "u2", "buffers": 2}}
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

from slipring.errors import BadArgument, TopicNotFound

from ..cells import dtypes
from ..native import _native
from ..settings import positive

DEFAULT_STREAM = "main"
DEFAULT_DTYPE = "u1"
DEFAULT_BUFFERS = 4
NEEDS = "bus.frames()"

SUFFIXES = (
    "frames",
    "frames-new",
)  # of the buffers; "new": of a creator that was killed before they were in place

Shape = tuple[int, ...]
Stream = tuple[str, Shape, str, int, int]
_KEYS = ("shape", "dtype", "buffers")


def shape_of(shape: Any) -> Shape:
    if isinstance(shape, (str, bytes)):
        raise TypeError(f"shape must be a tuple of integers, not {type(shape).__name__}")
    try:
        numbers = (
            (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
        )
    except TypeError:
        raise TypeError(f"shape must be a tuple of integers, not {shape!r}") from None
    for number in numbers:
        if not 0 < number < 2**63:
            raise BadArgument(f"shape={numbers} must have numbers of at least 1", argument="shape")
    if not 1 <= len(numbers) <= 8:
        raise BadArgument(f"shape={numbers} must have 1 to 8 dimensions", argument="shape")
    return numbers


def _given(name: str, value: Any, shared: dict[str, Any]) -> dict[str, Any]:
    """Return the shape, dtype and buffers of one stream: its own, else the shared ones."""
    if isinstance(value, Mapping):
        unknown = [key for key in value if key not in _KEYS]
        if unknown:
            raise BadArgument(
                f"stream {name!r} has {unknown[0]!r}: allowed are {', '.join(_KEYS)}", argument="streams"
            )
        return {**shared, **value}
    if value is None:
        return shared
    parts = tuple(value) if isinstance(value, Iterable) else (value,)
    if parts and not isinstance(parts[0], Iterable):
        parts = (parts,)  # a shape alone
    if len(parts) > 3:
        raise BadArgument(
            f"stream {name!r} must be (shape, dtype, buffers), not {value!r}", argument="streams"
        )
    return {**shared, **dict(zip(_KEYS, parts, strict=False))}


def _by_name(streams: Any, shared: dict[str, Any]) -> dict[str, dict[str, Any]]:
    if streams is None:
        return {DEFAULT_STREAM: shared}
    if isinstance(streams, str):
        streams = (streams,)
    if not isinstance(streams, Iterable):
        raise TypeError(f"streams must be names, or a dict by name, not {type(streams).__name__}")
    named = dict(streams) if isinstance(streams, Mapping) else None
    names = list(streams)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"streams must be named by str, not {type(name).__name__}")
    if len(set(names)) != len(names):
        raise BadArgument(f"streams={names} must not have a name twice", argument="streams")
    return {name: _given(name, named[name] if named else None, shared) for name in names}


def _one(name: str, given: dict[str, Any]) -> Stream:
    shape, dtype, buffers = (given[key] for key in _KEYS)
    if shape is None:
        raise BadArgument(f"stream {name!r} has no shape: give shape=", argument="shape")
    text, item_size = dtypes.to_text(DEFAULT_DTYPE if dtype is None else dtype, NEEDS)
    count = positive("buffers", DEFAULT_BUFFERS if buffers is None else buffers)
    if count > 64:
        raise BadArgument(f"buffers={count} must be at most 64", argument="buffers")
    return name, shape_of(shape), text, item_size, count


def to_make(shape: Any, dtype: Any, buffers: SupportsIndex | None, streams: Any) -> tuple[Stream, ...]:
    """Return the streams for a publisher; empty if none are given, which means the existing ones."""
    if shape is None and dtype is None and buffers is None and streams is None:
        return ()
    named = _by_name(streams, {"shape": shape, "dtype": dtype, "buffers": buffers})
    if not named:
        raise BadArgument("streams is empty: name at least one", argument="streams")
    return tuple(_one(name, given) for name, given in named.items())


def to_insist(shape: Any, dtype: Any, streams: Any) -> tuple[Stream, ...]:
    """Return the streams that a subscriber must find, as far as they are given."""
    named = _by_name(streams, {"shape": shape, "dtype": dtype, "buffers": None})
    insisted: list[Stream] = []
    for name, given in named.items():
        wanted = () if given["shape"] is None else shape_of(given["shape"])
        text = "" if given["dtype"] is None else dtypes.to_text(given["dtype"], NEEDS)[0]
        if wanted or text:
            insisted.append((name if streams is not None else "", wanted, text, 1, 1))
    return tuple(insisted)


def look(path: str, topic: str) -> list[dict[str, Any]]:
    """Return the streams of a frames topic as they stand in shared memory; none before its first publisher."""
    try:
        *_, streams, held = _native.frames_inspect(path, topic)
    except TopicNotFound:
        return []
    return describe(streams, held)


def describe(streams: Iterable[Stream], held: Iterable[int]) -> list[dict[str, Any]]:
    """Return a row for each stream."""
    return [
        {
            "stream": name,
            "shape": shape,
            "dtype": dtype,
            "buffers": buffers,
            "held": busy,
            "frame_bytes": item * math.prod(shape),
        }
        for (name, shape, dtype, item, buffers), busy in zip(streams, held, strict=True)
    ]


def verify(path: str, topic: str) -> None:
    """Raise the error of a damaged topic, or of damaged buffers if it carries frames."""
    _native.topic_verify(path, topic)
    if _native.topic_stats(path, topic)["content"] == "frames":
        look(path, topic)
