# SPDX-License-Identifier: Apache-2.0
"""``slipring frames``: the streams of frames topics, and a frame as a file."""

from __future__ import annotations

import io
from typing import Any

import click

import slipring
from slipring.cli.terminal import output, png, process_exit
from slipring.cli.terminal.counters import Stats, report, survey
from slipring.cli.terminal.known_names import hinted
from slipring.cli.terminal.options import Target, complete_topics, format_option, seconds
from slipring.cli.terminal.output import Column
from slipring.units import number, size

_COLUMNS = (
    Column("topic"),
    Column("stream"),
    Column("shape"),
    Column("dtype"),
    Column("frame", right=True),
    Column("buffers", right=True),
    Column("held", right=True),
)


@click.command()
@click.argument("topic", required=False, shell_complete=complete_topics)
@click.option("--save", metavar="FILE", help="Save the newest frame: .png, .npy, or - for a PNG to stdout.")
@click.option("--stream", metavar="NAME", help="Save a frame of this stream; required if there are several.")
@click.option("--timeout", type=seconds, help="Time to wait for a frame.  [default: no limit]")
@format_option()
@click.pass_obj
def command(
    target: Target, topic: str | None, save: str | None, stream: str | None, timeout: float | None, form: str
) -> int:
    """List the streams of TOPIC, or of all frames topics; or save a frame of TOPIC.

    A PNG file can have grey, RGB or RGBA of 8 or 16 bits, a .npy file every array. The exit code is 1 if no frame
    arrives within --timeout.
    """
    if save is None and (stream is not None or timeout is not None):
        raise click.UsageError("--stream and --timeout require --save")
    if save is not None and topic is None:
        raise click.UsageError("--save needs TOPIC")
    if save == "-" and output.to_terminal():
        raise click.UsageError("--save - writes bytes that could act on a terminal: redirect stdout")
    with target.open() as bus:
        if save is not None and topic is not None:
            return _save(bus, topic, stream, timeout, save)
        if topic is not None:
            _list(_streams(bus, topic), form)
            return 0
        found = survey(bus)
    _list([stream for name, stats in found.topics.items() for stream in _streams_of(name, stats)], form)
    return report(found)


def _streams(bus: slipring.Bus, topic: str) -> list[dict[str, Any]]:
    with hinted(bus, topic):
        stats = bus.stats(topic)
    if stats["content"] != "frames":
        raise click.UsageError(f"topic {topic!r} carries messages, not frames: `slipring info` shows it")
    return _streams_of(topic, stats)


def _streams_of(topic: str, stats: Stats) -> list[dict[str, Any]]:
    return [{"topic": topic, **stream} for stream in stats.get("streams", ())]


def _list(streams: list[dict[str, Any]], form: str) -> None:
    if form == "json":
        output.put_json(streams)
        return
    rows = [
        [
            *(str(stream[key]) for key in ("topic", "stream", "shape", "dtype")),
            size(stream["frame_bytes"]),
            *(number(stream[key]) for key in ("buffers", "held")),
        ]
        for stream in streams
    ]
    output.put_table(_COLUMNS, rows)


def _save(bus: slipring.Bus, topic: str, stream: str | None, timeout: float | None, path: str) -> int:
    frames = bus.frames(topic)
    there = [found["stream"] for found in frames.streams()]
    if stream is None and len(there) > 1:
        raise click.UsageError(f"--stream must name one of {', '.join(there)}")
    with frames.subscriber(stream, conflate=True, start="last").recv(timeout) as frame:
        if frame is None:
            process_exit.complain(f"no frame of {topic!r} within {timeout:g} s")
            return 1
        data = _encode(frame.array, path)
    if path == "-":
        output.put(data)
        return 0
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror}") from None
    return 0


def _encode(array: Any, path: str) -> bytes:
    if path.endswith(".npy"):
        import numpy

        file = io.BytesIO()
        numpy.save(file, array, allow_pickle=False)
        return file.getvalue()
    if path != "-" and not path.lower().endswith(".png"):
        raise click.UsageError(f"{path} ends neither in .png nor in .npy")
    try:
        return png.encode(array)
    except ValueError as error:
        raise click.UsageError(f"{error}; a file that ends in .npy holds it") from None
