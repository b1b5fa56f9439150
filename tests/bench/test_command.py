# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: runs of a few cases, beside C programs and installed rivals, that leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import WATCHDOG_S, eventually

REPOSITORY = Path(__file__).parents[2]
TINY = ("--quick", "--rounds", "1", "--seconds", "0.02")
TRIPS = (*TINY, "--only", "round_trip", "--no-rivals")
CALLS = (*TINY, "--only", "calls", "--no-rivals")  # no C programs answer it
FLOORS = {"c-core", "c-core-sleeping", "c-futex"}


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where the command keeps what is only for the time being."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def start(*arguments: object, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, **(env or {})}, text=True, **pipes)


def output(*arguments: object, env: dict[str, str] | None = None) -> tuple[str, str]:
    with start(*arguments, env=env) as process:
        told, errors = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 0, errors
    return told, errors


def document(*arguments: object, env: dict[str, str] | None = None) -> dict:
    return json.loads(output(*arguments, "--format", "json", env=env)[0])


def tools_but_compilers(folder: Path) -> Path:
    """The programs of $PATH: an editable installation needs some when it is imported."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for tool in Path(directory).glob("*"):
            if tool.name not in ("cc", "gcc", "clang") and not (folder / tool.name).is_symlink():
                (folder / tool.name).symlink_to(tool)
    return folder


def test_a_run_measures_c_programs_too_and_judges_the_targets(temporary):
    run = document(*TRIPS)
    assert {sample["case"] for sample in run["samples"]} == {"slipring", "slipring-sleeping"} | FLOORS
    assert run["left_out"] == {}
    verdicts = {each["target"]: each["verdict"] for each in run["targets"]}
    assert verdicts["round trip p50: the C core"] in ("met", "MISSED")
    assert verdicts["64 B one at a time: the C core"] == "not measured"
    assert list(temporary.iterdir()) == []


def test_a_run_is_kept_with_its_picture_and_can_be_shown_again(temporary, tmp_path):
    out = tmp_path / "kept"
    first, errors = output(*CALLS, "--out", out)
    assert {path.name for path in out.iterdir()} == {"quick-calls.json", "quick-calls.png"}
    assert f"picture: {out}/quick-calls.png" in errors
    assert "slipring-calls" in first and "Targets" in first
    assert output("--show", out / "quick-calls.json")[0] == first


def test_the_run_that_documents_cite_can_be_shown_with_its_targets(tmp_path):
    shown, _ = output("--show", REPOSITORY / "benchmarks" / "results" / "full.json", "--out", tmp_path)
    assert (
        "Cost of one receive as the ring grows" in shown and "64 B one at a time: the fastest rival" in shown
    )
    assert [path.name for path in tmp_path.iterdir()] == ["full.png"]


def test_only_one_question_shows_only_its_targets(temporary, tmp_path):
    shown, _ = output(*CALLS, "--out", tmp_path / "kept")
    _, _, targets = shown.partition("Targets\n")
    _heading, *rows = targets.split("\n\n")[0].splitlines()
    assert [row.split("  ")[0] for row in rows] == [
        "a call p50: pyzmq REQ/REP",
        "a call p50: gRPC on a Unix socket",
    ]


def test_without_a_compiler_the_c_programs_are_not_measured_and_the_rest_is(temporary, tmp_path):
    tools = tools_but_compilers(tmp_path / "tools")
    run = document(*TRIPS, env={"PATH": str(tools)})
    assert run["left_out"] == dict.fromkeys(sorted(FLOORS), "needs a C compiler: cc")
    assert {sample["case"] for sample in run["samples"]} == {"slipring", "slipring-sleeping"}


def test_a_rival_that_is_not_installed_is_left_out_of_a_quick_run(temporary, tmp_path):
    run = document(*TINY, "--only", "in_place", "--cache", tmp_path / "none")
    assert "iceoryx2" in run["left_out"]["iceoryx2-in-place"]
    assert {sample["transport"] for sample in run["samples"]} == {"slipring-in-place"}
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_while_it_builds_leaves_nothing(temporary, tmp_path, signum):
    out = tmp_path / "out"
    process = start("--quick", "--only", "round_trip", "--no-rivals", "--out", out)
    eventually(lambda: any(temporary.glob("slipring-bench-*/*")), "a run that builds the C programs")
    process.send_signal(signum)
    told, errors = process.communicate(timeout=WATCHDOG_S)
    assert (told, process.returncode) == ("", -signum)
    assert "Traceback" not in errors
    assert list(temporary.iterdir()) == [] and not out.exists()
