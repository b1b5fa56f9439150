# SPDX-License-Identifier: Apache-2.0
"""The command line knows cells: ls, info, doctor and rm."""

import json

import pytest


@pytest.fixture
def pose(bus):
    cells = bus.cells("pose", dtype="f8", depth=2)
    with cells.writer() as writer, cells.reader() as reader:
        for value in range(3):
            writer.put(value)
        reader.snapshot()
        yield cells


def test_ls_lists_cells_behind_the_topics(cli, bus, pose):
    bus.create("topic", capacity=4096)
    lines = cli.run("ls").stdout.decode().splitlines()
    assert lines[1].split()[0] == "topic"
    assert lines[-1].split()[:2] == ["pose", "cells"]
    records = json.loads(cli.run("ls", "--format", "json").stdout)
    assert [record["topic"] for record in records] == ["topic", "pose"]
    assert records[1] == {
        "topic": "pose", "kind": "cells", "size": 8, "depth": 2, "file_bytes": 12288, "puts": 3, "lost": 1,
        "writers": 1, "readers": 1,
    }  # fmt: skip


def test_ls_lists_cells_alone(cli, pose):
    assert cli.run("ls").stdout.decode().splitlines()[0].split()[:2] == ["NAME", "KIND"]


def test_info_shows_all_about_cells(cli, pose):
    shown = json.loads(cli.run("info", "pose", "--format", "json").stdout)
    assert (shown["kind"], shown["puts"], shown["lost"], shown["cells"]) == ("cells", 3, 1, 5)
    text = cli.run("info", "pose").stdout.decode()
    assert "writers" in text and "12 KiB" in text


def test_doctor_and_rm_know_cells(cli, bus, pose):
    assert cli.run("doctor").stdout.startswith(b"1 topic checked, no problems\n")
    cli.run("rm", "--yes", "pose")
    assert bus.contents() == {}
