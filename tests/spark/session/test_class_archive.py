# SPDX-License-Identifier: Apache-2.0
"""The archive of Spark's classes: made once, completely, by one process, used by all commands, private to the user."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lake import filling
from slipring.pipelines import class_archive, jvm
from slipring.pipelines.lake import Lake

WATCHDOG_S = 300


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in class_archive.JAVA:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def archive(cache):
    def make():
        found = class_archive.Archive()
        found.command(jvm._home())
        return found

    return make


def made(options):
    """Return the path where a JVM with these options puts its classes."""
    (path,) = [Path(one.split("=", 1)[1]) for one in options if one.startswith("-XX:ArchiveClassesAtExit=")]
    return path


def test_one_process_makes_the_archive_and_the_next_use_it(archive):
    first, second = archive(), archive()
    path = made(first.options(make=True))
    assert second.options(make=True) == [], "another one makes it: then without"
    assert archive().options(make=False) == []
    path.write_bytes(b"whole")
    first.finish(True)
    used = archive().options(make=True)
    assert f"-XX:SharedArchiveFile={path.with_name('classes.jsa')}" in used
    assert not path.exists() and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("written", [None, b"half"])
def test_an_archive_of_a_killed_jvm_is_not_used_and_made_again(archive, written):
    first = archive()
    path = made(first.options(make=True))
    if written:
        path.write_bytes(written)
    first.finish(False)
    assert [one.name for one in path.parent.iterdir() if one.name.endswith(("jsa", "unfinished"))] == []
    again = archive()
    assert made(again.options(make=True)) == path
    again.finish(True)


def test_a_directory_that_other_users_can_write_to_is_not_used(archive, cache, monkeypatch):
    archive()
    (place,) = (cache / "slipring").glob("spark-*")
    for directory in (place, place.parent):
        directory.chmod(0o777)
        assert archive().options(make=True) == []
        directory.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert archive().options(make=True) == []


def test_the_archive_of_another_java_or_spark_is_removed(archive, cache, tmp_path, monkeypatch):
    first = archive()
    made(first.options(make=True)).write_bytes(b"whole")
    first.finish(True)
    (place,) = (cache / "slipring").glob("spark-*")
    assert (place / "classes.jsa").exists()
    java = tmp_path / "updated/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\nexec {class_archive._java()} "$@"\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    again = archive()
    assert not (place / "classes.jsa").exists() and made(again.options(make=True)).parent == place
    again.finish(False)


def test_the_command_of_the_jvm_is_sparks_own_without_incubating_modules(archive, cache, monkeypatch):
    first = class_archive.Archive().command(jvm._home())
    assert first[-1] == class_archive.SUBMIT and not any("incubator" in word for word in first)
    assert any(word.startswith("--add-opens=") for word in first)
    monkeypatch.setattr(class_archive, "_ask_launcher", lambda *_: pytest.fail("asked again"))
    assert class_archive.Archive().command(jvm._home()) == first


@pytest.mark.timeout(2 * WATCHDOG_S)
def test_the_first_command_makes_the_archive_and_the_second_uses_it_with_the_same_result(cache, tmp_path):
    lake = Lake.create(tmp_path / "lake")
    filling.record(lake, lake.begin({}), 0, ("imu", filling.messages("imu", 0, 50)))
    command = [sys.executable, "-P", "-m", "slipring.cli", "report", str(lake.path), "--master", "local[2]"]

    def run():
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, **pipes, timeout=WATCHDOG_S)
        assert done.returncode == 0, done.stdout
        lines = done.stdout.splitlines()
        ours = [line for line in lines if line.startswith("slipring: ")]
        return [line for line in lines if line not in ours], lines, ours

    first, lines, ours = run()
    assert lines[-1] == ours[-1] and "writing an archive" in ours[-1], (
        "the report is there before the archive"
    )
    (place,) = (cache / "slipring").glob("spark-*")
    assert (place / "classes.jsa").stat().st_size > 1 << 20
    files = ["classes.jsa", "classes.lock", "command.json", "home", "installed"]
    assert run()[0] == first and sorted(one.name for one in place.iterdir()) == files
