# SPDX-License-Identifier: Apache-2.0
"""Names a user need not remember: the buses listed, the bus in the environment, mistakes answered, Tab."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import slipring
from slipring.cli.terminal import known_names
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.marker import MARKER
from support.waiting import WATCHDOG_S

TOOLS = Path(sys.executable).parent


@pytest.fixture
def robot(bus_root):
    with slipring.Bus("robot", root=str(bus_root)) as robot:
        yield robot


@pytest.fixture
def on_default(cli):
    """Run the command without --bus: on the bus "default", or the one of $SLIPRING_BUS."""

    def run(*args, env=None, code: int = 0):
        cli.argv = lambda *args: [sys.executable, "-P", "-m", "slipring.cli", *args]
        outcome = cli.finish(cli.start(*args, env={"SLIPRING_ROOT": str(cli.root), **(env or {})}))
        assert outcome.code == code, outcome
        return outcome

    return run


def test_buses_lists_the_buses_with_topics_memory_and_living_processes(cli, bus, robot, processes):
    bus.create("imu", capacity="1MiB")
    robot.create("a", capacity=4096)
    robot.cells("pose", size=8)
    child = processes.start('pubs = bus.publisher("imu"), bus.publisher("gps"); say("open"); hear()')
    child.expect("open")
    reader = robot.subscriber("a")
    found, other = cli.records("buses", "--format", "json")[0]
    assert (found["bus"], found["topics"], found["cells"], found["processes"]) == ("robot", 1, 1, 1)
    assert (other["bus"], other["topics"], other["cells"], other["processes"]) == ("test", 2, 0, 1)
    assert other["bytes"] > 1 << 20 and 4096 < found["bytes"] < 1 << 20
    child.kill()
    assert cli.records("buses", "--format", "json")[0][1]["processes"] == 0
    heading, first, _second = cli.run("buses").stdout.decode().splitlines()
    assert heading.split() == ["BUS", "TOPICS", "CELLS", "SIZE", "PROCESSES"]
    assert first.split()[:3] == ["robot", "1", "1"]
    reader.close()


@pytest.mark.foreign_files
def test_buses_passes_over_what_is_not_a_bus(cli, bus, bus_root):
    bus.create("t")
    (bus_root / "file").touch()
    (bus_root / "other").mkdir()
    (bus_root / "other" / "README").touch()
    (bus_root / ".hidden").mkdir()
    assert [record["bus"] for record in cli.records("buses", "--format", "json")[0]] == ["test"]


def test_a_root_without_buses_is_named(cli, bus_root):
    outcome = cli.run("buses")
    assert outcome.stdout == b"" and outcome.stderr == f"slipring: no buses in {bus_root}\n"


def test_the_environment_names_the_bus_unless_the_option_does(on_default, robot, bus):
    robot.create("wheel")
    bus.create("imu")
    named = {"SLIPRING_BUS": "robot"}
    assert b"wheel" in on_default("ls", env=named).stdout
    assert b"imu" in on_default("--bus", "test", "ls", env=named).stdout
    on_default("pub", "wheel", "x", env=named)
    assert on_default("sub", "wheel", "--start", "oldest", "--timeout", "0", env=named).stdout == b"x\n"


def test_an_empty_bus_names_those_that_have_topics(on_default, robot, bus, bus_root):
    robot.create("wheel")
    bus.create("imu")
    bus.remove("imu")
    outcome = on_default("ls")
    assert outcome.stdout == b""
    assert outcome.stderr.startswith(f"slipring: no topics on bus 'default' in {bus_root}; ")
    assert "'robot'" in outcome.stderr and "'test'" not in outcome.stderr and "SLIPRING_BUS" in outcome.stderr


@pytest.mark.parametrize(
    ("typed", "meant"), [("dcotor", "doctor"), ("list", "ls"), ("subs", "sub"), ("TOP", "top")]
)
def test_a_mistaken_verb_is_answered_with_the_one_that_is_like_it(cli, typed, meant):
    outcome = cli.run(typed, code=2)
    assert f"no such verb '{typed}': did you mean '{meant}'?" in outcome.stderr


@pytest.mark.parametrize("args", [("info", "cam.frnt"), ("rm", "cam.frnt", "--yes"), ("frames", "cam.frnt")])
def test_a_mistaken_topic_is_answered_with_the_one_that_is_like_it(cli, bus, args):
    bus.create("cam.front")
    bus.create("imu")
    assert "did you mean 'cam.front'?" in cli.run(*args, code=1).stderr


def test_a_mistaken_service_is_answered_with_the_one_that_is_like_it(cli, bus):
    with bus.server("calc") as server:
        server.start()
        outcome = cli.run("call", "clac", "add", "1", "2", code=1)
        assert "did you mean 'calc'?" in outcome.stderr and outcome.stderr.count("\n") == 1


def test_a_topic_of_another_bus_is_answered_with_that_bus(cli, bus, robot):
    bus.create("wheels")
    robot.create("wheel")
    assert "bus 'robot' has one: use --bus robot" in cli.run("info", "wheel", code=1).stderr


@pytest.mark.parametrize("args", [("sub", "cam.frnt", "--timeout", "0"), ("hz", "cam.frnt", "--for", "0.01")])
def test_a_reader_that_waits_for_a_topic_suggests_a_similar_name(cli, bus, args):
    bus.create("cam.front")
    stderr = cli.run(*args).stderr
    assert "waiting for topic 'cam.frnt' to appear; did you mean 'cam.front'?" in stderr


def completed(script: str, words: list[str], root: Path, home: Path) -> list[str]:
    """What bash offers for the last of ``words``, after ``script``."""
    line = " ".join(f"'{word}'" for word in words)
    code = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n_slipring_completion slipring\n"
    environment = {
        **os.environ,
        "PATH": f"{TOOLS}:{os.environ['PATH']}",
        "SLIPRING_ROOT": str(root),
        "HOME": str(home),
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", code + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        env=environment,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=True,
    )
    assert done.stderr == "", done.stderr
    return [word.split(",")[-1] for word in done.stdout.split()]


@pytest.fixture
def offered(cli, bus, robot, bus_root, tmp_path):
    script = cli.run("completion", "bash").stdout.decode()
    bus.create("imu", delivery="reliable")
    bus.create("cam.front")
    robot.create("wheel")
    bus.subscriber("imu", cursor="lake").close()
    return lambda *words: completed(script, ["slipring", *words], bus_root, tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("do",), ["doctor"]),
        (("--bus", ""), ["robot", "test"]),
        (("--bus", "te"), ["test"]),
        (("--bus", "test", "sub", ""), ["cam.front", "imu"]),
        (("--bus", "test", "hz", "i"), ["imu"]),
        (("--bus", "test", "rm", "imu", "c"), ["cam.front"]),
        (("--bus", "robot", "info", ""), ["wheel"]),
        (("--bus", "test", "record", "imu", "ca"), ["cam.front"]),
        (("--bus", "test", "sub", "imu", "--cursor", ""), ["lake"]),
        (("--bus", "test", "sub", "--cursor", ""), ["lake"]),
        (("sub", ""), []),
    ],
)
def test_tab_completes_verbs_buses_topics_and_cursors(offered, words, expected):
    assert offered(*words) == expected


def test_tab_completes_the_topics_of_the_bus_that_a_mirror_copies_from(offered):
    mirror = ("--bus", "test", "bridge", "mirror")
    assert offered(*mirror, "") == ["cam.front", "imu"]
    assert offered(*mirror, "--from", "robot", "") == ["wheel"]
    assert offered(*mirror, "--from", "rob") == ["robot"]
    assert offered(*mirror, "imu:") == []


def test_tab_completes_the_topics_of_a_remote_bus(offered, robot):
    from slipring.bridge import Server

    with Server(robot, "tcp://127.0.0.1:0") as server:
        server.start()
        pieces = server.address.replace(":", "\n:\n").split("\n")  # as bash takes it
        assert offered("bridge", "mirror", "--from", *pieces, "w") == ["wheel"]
        assert offered("--bus", *pieces, "sub", "") == ["wheel"]
        assert offered("--bus", "=", *pieces, "sub", "") == ["wheel"]
    assert offered("bridge", "mirror", "--from", *pieces, "") == []  # nobody is there


@pytest.fixture
def recordings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for lake in ("drives/monday", "drives/tuesday", "zoo"):
        Lake.create(lake)
    for other in ("drives/made", "zebra", "with space", ".hidden"):
        (tmp_path / other).mkdir()
    (tmp_path / "zip.parquet").touch()
    return tmp_path


@pytest.mark.parametrize(
    "verb",
    [
        ("record", "imu", "--to"),
        ("replay",),
        ("report",),
        ("lake", "ls"),
        ("lake", "verify"),
        ("lake", "compact"),
    ],
)
def test_tab_completes_lakes_before_other_directories(offered, recordings, verb):
    assert offered(*verb, "") == ["zoo", "drives/", "zebra/"]


def test_tab_completes_lakes_at_any_place(offered, recordings):
    assert offered("report", "drives/m") == ["drives/monday", "drives/made/"]
    assert offered("report", f"{recordings}/drives/t") == [f"{recordings}/drives/tuesday"]
    assert offered("report", "~/z") == ["~/zoo", "~/zebra/"]


def test_the_mark_by_which_lakes_are_completed_is_that_of_lakes():
    assert known_names.LAKE_MARKER == MARKER


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".local/share/bash-completion/completions/slipring"),
        ("zsh", ".local/share/zsh/site-functions/_slipring"),
        ("fish", ".config/fish/completions/slipring.fish"),
    ],
)
def test_completion_is_installed_where_the_shell_looks(cli, tmp_path, shell, file):
    hidden = dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "BASH_COMPLETION_USER_DIR"), "")
    environment = {**hidden, "HOME": str(tmp_path), "SHELL": f"/usr/bin/{shell}"}
    outcome = cli.finish(cli.start("completion", "--install", env=environment))
    assert outcome.code == 0 and str(tmp_path / file) in outcome.stderr
    assert (tmp_path / file).read_bytes() == cli.run("completion", shell).stdout


def test_another_shell_is_refused_with_those_there_are(cli):
    outcome = cli.finish(cli.start("completion", env={"SHELL": "/bin/dash"}))
    assert outcome.code == 2 and "bash, zsh, fish" in outcome.stderr and "dash" in outcome.stderr


def test_the_list_of_verbs_has_the_first_line_of_each_verb():
    from slipring.cli.app import VERBS, app

    for verb, said in VERBS.items():
        command = app.get_command(None, verb)
        assert command.short_help in (None, said), verb


@pytest.mark.parametrize("argument", ["--help", "--version", "ls"])
def test_a_quick_verb_imports_none_of_the_slow_modules(bus_root, argument):
    code = (
        "import sys; sys.argv = ['slipring', '--root', sys.argv[1], sys.argv[2]]\n"
        "import atexit; from slipring.cli import main\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(bus_root), argument],
        capture_output=True,
        text=True,
        check=True,
    )
    slow = {"rich", "asyncio", "numpy", "statistics", "pyarrow", "subprocess"}
    slow |= {"slipring.bench", "slipring.pipelines", "slipring.spark"}
    slow |= {"slipring._bus.calls", "subprocess", "slipring.cli.verbs.bench", "slipring.cli.verbs.record"}
    assert not slow & set(done.stderr.split())
