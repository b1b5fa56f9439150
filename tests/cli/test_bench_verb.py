# SPDX-License-Identifier: Apache-2.0
"""``slipring bench``: real runs, of a few cases and few messages, that leave nothing behind however they end."""

import json
import os
import signal
from pathlib import Path

import pytest

from support.waiting import eventually

TINY = ("bench", "--quick", "--rounds", "1", "--seconds", "0.02")
TRIPS = (*TINY, "--only", "round_trip")
CALLS = (*TINY, "--only", "calls")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Where the command keeps what is only for the time being, and where its user stands."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def everything_of(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*")]


def using(folder: Path) -> list[str]:
    """The command lines of the processes that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in words and path.parent.name != str(os.getpid()):
            found.append(words)
    return found


def test_a_run_has_its_samples_machine_and_versions_as_json(cli, bus_root, elsewhere):
    (run,) = cli.records(*TRIPS, "--format", "json")
    assert {sample["case"] for sample in run["samples"]} == {"slipring", "slipring-sleeping"}
    for sample in run["samples"]:
        figures = sample["figures"]
        assert 0 < figures["p50_us"] <= figures["p99_us"] <= figures["p99.9_us"] <= figures["max_us"]
        assert figures["messages"] > 0 and figures["cpu_s_per_million"] > 0
        assert sample["placement"] in ("near", "far", "moved", "unknown")
    assert run["machine"]["python"] and run["versions"]["slipring"] and run["left_out"] == {}
    assert everything_of(bus_root) == everything_of(elsewhere) == []
    assert [path.name for path in elsewhere.parent.iterdir()] == [elsewhere.name]


def test_a_run_is_kept_and_can_be_shown_again(cli, elsewhere, tmp_path):
    out = tmp_path / "kept"
    first = cli.run(*CALLS, "--out", str(out))
    assert [path.name for path in out.iterdir()] == ["quick-calls.json"]
    assert f"samples: {out}/quick-calls.json" in first.stderr
    assert "slipring-calls" in first.stdout.decode()
    again = cli.run("bench", "--show", str(out / "quick-calls.json"))
    assert again.stdout == first.stdout


def test_what_needs_a_missing_extra_is_left_out_and_named(cli, elsewhere, tmp_path):
    # Only the metadata is asked for, so that is what is taken away.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as m\nfound = m.distributions\n"
        "m.distributions = lambda: [each for each in found() if each.name != 'pyarrow']\n"
    )
    arguments = (*TINY, "--only", "batches", "--format", "json")
    outcome = cli.finish(cli.start(*arguments, env={"PYTHONPATH": str(tmp_path)}))
    run = json.loads(outcome.stdout)
    assert run["left_out"] == {"slipring-arrow": 'needs pyarrow: pip install "slipring[arrow]"'}
    assert {sample["transport"] for sample in run["samples"]} == {"slipring-lists"}


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(cli, bus_root, elsewhere, tmp_path, signum):
    run = cli.start("bench", "--quick", "--only", "calls", "--seconds", "5")
    eventually(lambda: any(bus_root.glob("srb-*/*/*")), "a run that takes a sample")
    run.send_signal(signum)
    outcome = cli.finish(run)
    assert (outcome.stdout, outcome.code) == (b"", -signum)
    assert "Traceback" not in outcome.stderr
    assert everything_of(bus_root) == everything_of(elsewhere) == []
    assert using(bus_root) == using(elsewhere) == []
    assert not (tmp_path / "slipring-bench").exists()


def test_a_run_of_a_checkout_is_shown_and_questions_of_a_checkout_are_named(cli):
    kept = Path(__file__).parents[2] / "benchmarks" / "results" / "full.json"
    shown = cli.run("bench", "--show", str(kept)).stdout.decode()
    assert "Throughput, one message a call" in shown and "pyzmq size=64" in shown
    assert "not shown: " in shown and "ring_size" in shown and "python -m benchmarks --show" in shown


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--only", "nothing"), "round_trip"),
        (("--show", __file__), "not JSON"),
        (("--rounds", "0"), "--rounds"),
        (("--limit", "-1"), "--limit"),
    ],
)
def test_wrong_usage_is_one_line_that_names_what_to_change(cli, arguments, names):
    outcome = cli.run("bench", *arguments, code=2)
    assert outcome.stdout == b"" and outcome.stderr.count("\n") == 1
    assert names in outcome.stderr


def test_a_root_that_is_not_there_is_named_before_anything_is_measured(cli, elsewhere):
    cli.root = elsewhere / "missing"
    outcome = cli.run(*CALLS, code=2)
    assert "missing" in outcome.stderr and "--root" in outcome.stderr
    assert [path.name for path in elsewhere.parent.iterdir()] == [elsewhere.name]
