# SPDX-License-Identifier: Apache-2.0
"""``slipring replay`` and ``slipring report`` as commands."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass

import pytest

from lake import filling
from slipring._bus.schema.codec import Encoder
from slipring._bus.schema.declare import declare
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.topics import topic_settings
from slipring.pipelines.report import overview
from support.waiting import eventually

WATCHDOG_S = 300
pytestmark = pytest.mark.timeout(2 * WATCHDOG_S)


@pytest.fixture
def lake(tmp_path):
    lake = Lake.create(tmp_path / "lake")
    rows = filling.messages("imu", 0, 3000), filling.hole("imu", 3000, 5, 4), filling.messages("gps", 7, 9)
    parts = ("imu", rows[0]), ("imu", rows[1]), ("gps", rows[2])
    filling.record(lake, lake.begin({}), 0, *parts)
    return str(lake.path)


@pytest.fixture
def command(bus_root):
    """Start the command on the test's bus in its own process group, as a terminal does."""
    started = []

    def start(*arguments, **environment):
        argv = [
            sys.executable,
            "-P",
            "-m",
            "slipring.cli",
            "--bus",
            "test",
            "--root",
            str(bus_root),
            *arguments,
        ]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        env = {**os.environ, **environment}
        started.append(subprocess.Popen(argv, env=env, start_new_session=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def with_spark(command, fast_spark, tmp_path):
    def start(*arguments):
        java = {"JDK_JAVA_OPTIONS": fast_spark["spark.driver.extraJavaOptions"]}
        java["XDG_CACHE_HOME"] = str(tmp_path / "cache")
        return command(*arguments, "--master", "local[2,4]", **java)

    return start


def only_ours(stderr):
    """Check that stderr has no trace of Java or Python and no warning of Spark."""
    return all(line.startswith("slipring: ") for line in stderr.splitlines())


def test_ctrl_c_ends_a_replay_which_reports_its_progress(bus, lake, with_spark):
    process = with_spark("replay", lake, "--speed", "0.01", "--rename", "*=again.*")

    def under_way():
        assert process.poll() is None, process.communicate()
        return "again.imu" in bus.topics() and bus.stats("again.imu")["published"] > 2

    eventually(under_way, "the replay", WATCHDOG_S)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == -signal.SIGINT, stderr
    assert only_ours(stderr), stderr
    sent = bus.stats("again.imu")["published"]
    assert f"again.imu: {sent} messages\n" in stdout
    assert " of 3,002 messages, " in stdout and "spacing error: p50 " in stdout
    assert bus.stats("again.imu")["publishers"] == []
    assert [m.body for m in bus.subscriber("again.imu", start="oldest").recv_many(sent)] == [
        filling.body("imu", offset) for offset in range(sent)
    ]


def test_ctrl_c_ends_a_report_at_once_and_without_a_trace(lake, with_spark):
    process = with_spark("report", lake)
    while "computing" not in (line := process.stderr.readline()):
        assert line.startswith("slipring: "), line
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == -signal.SIGINT and stdout.startswith("3,002 messages in "), stderr
    assert stdout.strip().count("\n") == 0 and only_ours(stderr), stderr


def test_a_report_begins_with_the_totals_before_spark_starts(command, lake):
    process = command("report", lake, JAVA_HOME="/nowhere")
    stdout, stderr = process.communicate(timeout=WATCHDOG_S)
    assert re.fullmatch(r"3,002 messages in [^\n]+, from [^\n]+: 4 messages lost\n\n", stdout), stdout
    assert process.returncode == 1 and "JAVA_HOME" in stderr, stderr


@dataclass
class Imu:
    t: float
    acc: tuple[float, float]


def test_a_report_shows_the_fields_of_a_typed_topic(bus, lake, with_spark):
    bus.create("typed", schema=Imu)
    topic_settings.note(Lake.open(lake), bus, "typed")
    number = bus.stats("typed")["generation"]
    generation = number - (1 << 64) if number >> 63 else number
    rows = [list(row) for row in filling.messages("typed", 0, 1000, generation)]
    encode = Encoder(declare(Imu)).encode
    for at, row in enumerate(rows):
        row[8] = bytes(encode(Imu(math.nan if at == 5 else at, (1.5, -at)))) if at != 9 else b"bad"
    found = Lake.open(lake)
    filling.record(found, found.begin({}), 0, ("typed", rows))

    process = with_spark("report", lake, "--format", "table")
    out, err = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 0 and only_ours(err)
    fields = [line.split() for line in out.split("Fields")[1].split("\n\n")[0].splitlines()]
    (acc,) = [row for row in fields if row[1:2] == ["acc[1]"]]
    assert [acc[2], acc[5], *acc[-3:]] == ["-999", "-500", "0", "0", "0"]
    assert [row[-2:] for row in fields if row[1:2] == ["t"]] == [["1", "0"]]
    assert "typed: 1 undecodable message, not among the fields; the first is sequence 9: " in out

    process = with_spark("report", lake, "--format", "json")
    out, err = process.communicate(timeout=WATCHDOG_S)
    told = json.loads(out)
    assert [row["field"] for row in told["fields"]] == ["t", "acc[0]", "acc[1]"]
    assert (told["fields"][0]["values"], told["fields"][0]["maximum"]) == (998, 999)
    assert told["undecodable"][0]["messages"] == 1 and told["fields_left_out"] == {}


def test_a_report_is_tables_json_and_a_page(lake, with_spark, tmp_path):
    page = tmp_path / "page.html"
    process = with_spark("report", lake, "--format", "json", "--html", str(page))
    stdout, stderr = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 0 and only_ours(stderr), stderr
    found = json.loads(stdout)
    assert (found["totals"]["messages"], found["totals"]["lost"]) == (3002, 4)
    assert f"the page is {page}" in stderr and "3,002 messages" in page.read_text()
    assert found["gaps"][0]["abandoned"] == 1
    log = overview(Lake.open(lake))
    assert {name: found["totals"][name] for name in log} == log


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["replay", "{lake}", "--speed", "fast"], "--speed='fast' must be a number above 0"),
        (["replay", "{lake}", "--timeout", "-1"], "-1 is not zero or more"),
        (["replay", "{lake}", "--rename", "imu"], "--rename: 'imu' must have the form OLD=NEW"),
        (["replay", "{lake}", "--times", "then"], "'then' is not one of"),
        (["replay", "{lake}/nothing"], "nothing"),
        (["report", "{lake}/messages"], "messages"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line_without_starting_spark(command, lake, arguments, says):
    process = command(*(text.format(lake=lake) for text in arguments), JAVA_HOME="/nowhere")
    _, stderr = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode in (1, 2)
    assert stderr.count("\n") == 1 and says in stderr, stderr
