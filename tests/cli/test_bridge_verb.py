# SPDX-License-Identifier: Apache-2.0
"""``slipring bridge``: serve, mirror, keys, tidy."""

import json
import os
import signal
import stat

import pytest

import slipring
from support.waiting import WATCHDOG_S, eventually


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "state")


@pytest.fixture
def served(cli, state):
    """The address of a bus that `bridge serve` exports."""
    process = cli.start("bridge", "serve", "--address", "tcp://127.0.0.1:0", "--state", state)
    return process, process.stdout.readline().decode().strip()


def test_every_verb_works_on_an_address(cli, served, bus):
    _, address = served
    cli.run("pub", "t", "hello")
    with slipring.Bus(address) as remote:
        assert remote.topics() == ["t"]
    process = cli.start("--bus", address, "sub", "t", "--start", "oldest", "--count", "1")
    assert cli.finish(process).stdout == b"hello\n"


def test_ls_top_doctor_and_rm_see_the_topics_of_an_address(cli, served, bus):
    _, address = served
    cli.run("pub", "imu", "hello")

    def run(*args) -> tuple[int, bytes]:
        outcome = cli.finish(cli.start("--bus", address, *args), b"")
        return outcome.code, outcome.stdout

    code, listed = run("ls", "--format", "json")
    assert code == 0 and [topic["topic"] for topic in json.loads(listed)] == ["imu"]
    code, sample = run("top", "--once", "--interval", "0.01", "--format", "json")
    assert code == 0 and [topic["topic"] for topic in json.loads(sample)["topics"]] == ["imu"]
    assert run("doctor")[1].startswith(b"1 topic checked, no problems\n")
    assert run("rm", "imu")[0] == 2 and bus.topics() == ["imu"]  # nobody was asked
    assert run("rm", "imu", "--yes")[0] == 0 and bus.topics() == []


def test_typed_topics_have_fields_on_an_address(cli, served, bus):
    _, address = served
    bus.publisher("imu", schema=[("t", "<f8"), ("n", "<i4", (2,))]).close()

    def run(*args) -> tuple[int, bytes]:
        outcome = cli.finish(cli.start("--bus", address, *args), b"")
        return outcome.code, outcome.stdout

    assert run("pub", "imu", '{"t": 0.5, "n": [1, 2]}')[0] == 0
    assert run("sub", "imu", "--start", "oldest", "--count", "1") == (0, b"#0  t=0.5 n=[1, 2]\n")
    assert run("schema", "imu", "--as", "ddl") == (0, b"t DOUBLE, n ARRAY<INT>\n")
    assert run("pub", "imu", '{"t": "x"}')[0] == 1


def test_a_stopped_server_ends_by_its_signal_and_leaves_nothing(served, bus, state):
    process, address = served
    with slipring.Bus(address) as remote, remote.publisher("t") as pub:
        pub.send(b"x")
    process.send_signal(signal.SIGTERM)
    assert process.wait(WATCHDOG_S) == -signal.SIGTERM
    assert [names for _, _, names in os.walk(state) if names] == []


def test_a_mirror_reports_lag_and_loss_in_json_lines(cli, served, bus, bus_root):
    _, address = served
    bus.publisher("imu").send_many([b"x"] * 5)
    process = cli.start(
        "bridge", "mirror", "--from", address, "--to", "far", "imu:robot.*", "--interval", "0.1",
        "--format", "json",
    )  # fmt: skip

    def mirrored() -> dict:
        return json.loads(process.stdout.readline())["topics"][0]

    status = eventually(lambda: (found := mirrored())["mirrored"] == 5 and found, "the mirroring")
    assert (status["topic"], status["target"], status["lag"], status["lost"]) == ("imu", "robot.imu", 0, 0)
    process.send_signal(signal.SIGINT)
    assert process.wait(WATCHDOG_S) == -signal.SIGINT
    with slipring.Bus("far", root=bus_root) as far:
        assert far.stats("robot.imu")["tail"] == 5
        far.remove("robot.imu")
    cli.run("--bus", "far", "bridge", "tidy")
    assert not (bus_root / ".bridge").exists()


def test_keys_are_made_and_printed(cli, tmp_path):
    lines = cli.run("bridge", "keys", str(tmp_path / "k"), "ann").stdout.decode().splitlines()
    assert lines == [str(tmp_path / "k/ann.key"), str(tmp_path / "k/ann.secret")]
    assert stat.S_IMODE(os.stat(lines[1]).st_mode) == 0o600


def test_a_configuration_file_is_read_and_wrong_entries_are_named(cli, tmp_path, state):
    config = tmp_path / "bridge.toml"
    config.write_text(f'[serve]\naddress = "tcp://127.0.0.1:0"\nstate = "{state}"\nheartbeat_s = 1\n')
    process = cli.start("bridge", "serve", "--config", str(config))
    assert process.stdout.readline().startswith(b"zmq+tcp://127.0.0.1:")
    config.write_text("[serve]\nadress = 1\n")
    assert "adress" in cli.run("bridge", "serve", "--config", str(config), code=1).stderr
    config.write_text("[[mirror]]\ntopics = 3\n")
    assert "topics" in cli.run("bridge", "mirror", "--config", str(config), code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "--address", "tcp://0.0.0.0:0"], "insecure"),
        (["serve", "--address", "udp://x"], "zmq+tcp"),
        (["mirror", "t"], "--to"),
        (["mirror", "--to", "zmq+tcp://127.0.0.1:1/x?connect_timeout=0.2", "t"], "127.0.0.1:1"),
    ],
)
def test_what_cannot_work_is_said_in_one_line(cli, arguments, says):
    process = cli.start("bridge", *arguments)
    outcome = cli.finish(process)
    assert outcome.code in (1, 2) and says in outcome.stderr and outcome.stderr.count("\n") == 1
