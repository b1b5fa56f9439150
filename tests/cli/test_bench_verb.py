# SPDX-License-Identifier: Apache-2.0
"""``slipring bench``: real runs, of a few cases and few messages, that leave nothing behind however they end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import eventually

TINY = ("bench", "--quick", "--rounds", "1", "--seconds", "0.02")
OURS = (*TINY, "--only", "round_trip", "--no-rivals")
CALLS = (*TINY, "--only", "calls", "--no-rivals")  # no floors of theirs have to be built
FLOORS = {"c-core", "c-core-sleeping", "c-futex"}


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Where the command keeps what is only for the time being, and where its user stands."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def without(tmp_path: Path, module: str) -> dict[str, str]:
    """An environment whose interpreters do not find a module."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{module!r}] = None\n")
    return {"PYTHONPATH": str(tmp_path)}


def tools_but_compilers(folder: Path) -> Path:
    """The programs of $PATH: an editable installation needs some when it is imported."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for tool in Path(directory).glob("*"):
            if tool.name not in ("cc", "gcc", "clang") and not (folder / tool.name).is_symlink():
                (folder / tool.name).symlink_to(tool)
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


def test_a_run_tells_its_samples_machine_versions_and_targets_as_json(cli, bus_root, elsewhere):
    (run,) = cli.records(*OURS, "--format", "json")
    assert {sample["case"] for sample in run["samples"]} == {"slipring", "slipring-sleeping"} | FLOORS
    for sample in run["samples"]:
        figures = sample["figures"]
        assert 0 < figures["p50_us"] <= figures["p99_us"] <= figures["p99.9_us"] <= figures["max_us"]
        assert figures["messages"] > 0 and figures["cpu_s_per_million"] > 0
        assert sample["placement"] in ("near", "far", "moved", "unknown")
    assert run["machine"]["python"] and run["versions"]["slipring"] and run["left_out"] == {}
    verdicts = {each["target"]: each["verdict"] for each in run["targets"]}
    assert verdicts["round trip p50: the C core"] in ("met", "MISSED")
    assert verdicts["64 B one at a time: the C core"] == "not measured"
    assert everything_of(bus_root) == everything_of(elsewhere) == []
    assert [path.name for path in elsewhere.parent.iterdir()] == [elsewhere.name]


def test_a_run_is_kept_with_its_picture_and_can_be_shown_again(cli, elsewhere, tmp_path):
    out = tmp_path / "kept"
    first = cli.run(*CALLS, "--out", str(out))
    assert {path.name for path in out.iterdir()} == {"quick-calls.json", "quick-calls.png"}
    assert f"picture: {out}/quick-calls.png" in first.stderr
    assert "slipring-calls" in first.stdout.decode() and "Targets" in first.stdout.decode()
    again = cli.run("bench", "--show", str(out / "quick-calls.json"))
    assert again.stdout == first.stdout


def test_only_one_question_shows_only_its_targets(cli, elsewhere, tmp_path):
    shown = cli.run(*CALLS, "--out", str(tmp_path / "kept")).stdout.decode()
    _, _, targets = shown.partition("Targets\n")
    _heading, *rows = targets.split("\n\n")[0].splitlines()
    assert [row.split("  ")[0] for row in rows] == [
        "a call p50: pyzmq REQ/REP",
        "a call p50: gRPC on a Unix socket",
    ]


def test_without_matplotlib_there_is_a_plot_in_text_and_the_extra_is_named(cli, elsewhere, tmp_path):
    process = cli.start(*CALLS, env=without(tmp_path, "matplotlib"))
    outcome = cli.finish(process)
    assert outcome.code == 0, outcome
    assert 'pip install "slipring[bench]"' in outcome.stderr
    assert "█" in outcome.stdout.decode()
    assert everything_of(tmp_path / "slipring-bench") == ["quick-calls.json"]


def test_what_needs_a_missing_extra_is_left_out_and_named(cli, elsewhere, tmp_path):
    # Only the metadata is asked for, so that is what is taken away.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as m\nfound = m.distributions\n"
        "m.distributions = lambda: [each for each in found() if each.name != 'pyarrow']\n"
    )
    arguments = (*TINY, "--only", "batches", "--no-rivals", "--format", "json")
    outcome = cli.finish(cli.start(*arguments, env={"PYTHONPATH": str(tmp_path)}))
    run = json.loads(outcome.stdout)
    assert run["left_out"] == {"slipring-arrow": 'needs pyarrow: pip install "slipring[bench]"'}
    assert {sample["transport"] for sample in run["samples"]} == {"slipring-lists", "c-core"}


def test_without_a_compiler_the_floors_are_not_measured_and_the_rest_is(cli, elsewhere, tmp_path):
    tools = tools_but_compilers(tmp_path / "tools")
    outcome = cli.finish(cli.start(*OURS, "--format", "json", env={"PATH": str(tools)}))
    assert outcome.code == 0, outcome
    run = json.loads(outcome.stdout)
    assert run["left_out"] == dict.fromkeys(sorted(FLOORS), "needs a C compiler: cc")
    assert {sample["case"] for sample in run["samples"]} == {"slipring", "slipring-sleeping"}
    assert {sample["placement"] for sample in run["samples"]} == {"unknown"}


def test_a_rival_that_is_not_installed_is_left_out_of_a_quick_run(cli, elsewhere, tmp_path):
    arguments = (*TINY, "--only", "in_place", "--cache", str(tmp_path / "none"), "--format", "json")
    (run,) = cli.records(*arguments)
    assert "iceoryx2" in run["left_out"]["iceoryx2-in-place"]
    assert {sample["transport"] for sample in run["samples"]} == {"slipring-in-place"}
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("while_it", ["builds the floors", "takes a sample"])
def test_an_interrupted_run_leaves_nothing(cli, bus_root, elsewhere, tmp_path, while_it, signum):
    builds = while_it == "builds the floors"
    question = "round_trip" if builds else "calls"
    run = cli.start("bench", "--quick", "--only", question, "--no-rivals", "--seconds", "5")
    watched, pattern = (elsewhere, "slipring-bench-*/*") if builds else (bus_root, "srb-*/*/*")
    eventually(lambda: any(watched.glob(pattern)), f"a run that {while_it}")
    run.send_signal(signum)
    outcome = cli.finish(run)
    assert (outcome.stdout, outcome.code) == (b"", -signum)
    assert "Traceback" not in outcome.stderr
    assert everything_of(bus_root) == everything_of(elsewhere) == []
    assert using(bus_root) == using(elsewhere) == []
    assert not (tmp_path / "slipring-bench").exists()


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


def test_a_checkout_has_the_same_command():
    repository = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "benchmarks", "--help"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    assert "--no-rivals" in done.stdout
