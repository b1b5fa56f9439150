# SPDX-License-Identifier: Apache-2.0
"""A path with a scheme is refused, and nothing is created: it would become a local directory of that name."""

from pathlib import Path

import pytest

from slipring import BadArgument, pipelines
from slipring.cli.app import app
from slipring.pipelines import declarative
from slipring.pipelines.lake import Lake, NotLocal
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.record.finish import release
from slipring.pipelines.report import write_page

SCHEMES = ("s3", "s3a", "gs", "hdfs", "az", "abfs", "abfss", "file", "http", "S3")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


CALLS = {
    "record": lambda path, bus: pipelines.record("t", path, bus=bus.name, root=bus.root),
    "replay": lambda path, bus: pipelines.replay(path, bus=bus),
    "report": lambda path, _: pipelines.report(path),
    "report's page": lambda path, _: write_page(None, path),
    "release": lambda path, _: release(path),
    "create": lambda path, _: Lake.create(path),
    "open": lambda path, _: Lake.open(path),
    "verify": lambda path, _: verify(path),
    "pipeline init": lambda path, _: declarative.init(path),
    "pipeline run": lambda path, _: declarative.run(path),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_path_with_a_scheme_is_refused_and_nothing_is_created(here, bus, name, scheme):
    bus.publisher("t").send(b"0")
    for path in (f"{scheme}://bucket/lake", Path(f"{scheme}://bucket/lake")):
        with pytest.raises(NotLocal, match=f"has the scheme '{scheme}', and only local paths are supported"):
            CALLS[name](path, bus)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["record", "t", "--to", "s3://bucket/lake"],
        ["record", "--release", "--to", "s3://bucket/lake"],
        ["replay", "s3://bucket/lake"],
        ["report", "s3://bucket/lake"],
        ["lake", "ls", "s3://bucket/lake"],
        ["lake", "verify", "s3://bucket/lake"],
        ["lake", "compact", "s3://bucket/lake"],
        ["pipeline", "init", "s3://bucket/lake"],
    ],
)
def test_commands_refuse_a_path_with_a_scheme(here, bus, bus_root, words):
    import click

    bus.publisher("t").send(b"0")
    with pytest.raises((BadArgument, click.UsageError), match=r"has the scheme 's3'"):
        app.main(["--bus", bus.name, "--root", str(bus_root), *words], standalone_mode=False)
    assert list(here.iterdir()) == []


def test_a_leading_dot_makes_such_a_name_a_local_directory(here):
    assert Lake.create("./s3:/lake").path == here / "s3:" / "lake"
