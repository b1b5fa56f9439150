# SPDX-License-Identifier: Apache-2.0
"""The demo as a user runs it: `python -m demo`, with everything it starts and leaves."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from demo_program import REPOSITORY, start

from demo import robot

SHM = Path("/dev/shm")
WATCHDOG_S = 300
pytestmark = pytest.mark.timeout(900)


def stages(pid: int) -> list[Path]:
    """Directories that the demo with this pid has in shared memory."""
    return list(SHM.glob(f"slipring-demo-{pid}-*"))


def workers(pid: int) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if f"slipring-demo-{pid}-".encode() in words:
            found.append(path.parent.name)
    return found


def until(condition, what: str) -> None:
    deadline = time.monotonic() + WATCHDOG_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {WATCHDOG_S} s"
        time.sleep(0.01)


def test_every_claim_passes_and_the_exit_code_is_0(show):
    _, code, printed, out = show
    assert code == 0, printed
    summary = json.loads((out / "summary.json").read_text())
    assert [claim for claim in summary["claims"] if not claim["passed"]] == []
    assert len(summary["claims"]) == 14
    for claim in summary["claims"]:
        assert re.search(rf"PASS │ {re.escape(claim['claim'])} ", printed), printed


def test_processes_were_killed_and_restarted(show):
    *_, out = show
    claims = {
        claim["claim"]: claim["detail"] for claim in json.loads((out / "summary.json").read_text())["claims"]
    }
    kills, lives = re.fullmatch(
        r"(\d+) SIGKILLs, \d+ SIGSTOPs, (\d+) processes", claims["Only killed processes died"]
    ).groups()
    assert int(kills) >= 4
    assert int(lives) == len(robot.COMPONENTS) + int(kills)


def test_progress_is_printed_in_plain_lines_without_a_terminal(show):
    _, _, printed, _ = show
    assert re.search(
        r"^ +\d+\.\d s  \d+ kills, \d+ stops; imu [\d,]+/s, .* MB/s; longest time", printed, re.M
    )
    assert "\x1b" not in printed


def test_the_path_of_the_report_is_printed_and_the_report_loads_nothing(show):
    *_, printed, out = show
    page = out / "report.html"
    assert str(page) in printed
    text = page.read_text()
    assert not re.search(r"https?://|src=|<link(?! rel=.icon. href=.data:,.)|<script|@import|url\(", text)
    assert text.count("<svg") == 5


def test_nothing_is_left_in_shared_memory_and_no_process(show):
    pid, *_ = show
    assert stages(pid) == []
    assert workers(pid) == []


@pytest.mark.parametrize("order", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_at_any_time_it_ends_everything_it_started(tmp_path, order):
    with start("--seconds", "300", "--without-spark", out=tmp_path / "report") as process:
        until(lambda: len(workers(process.pid)) >= len(robot.COMPONENTS) // 2, "the robot starts")
        process.send_signal(order)
        printed, _ = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert stages(process.pid) == []
    assert workers(process.pid) == []
    assert not (tmp_path / "report").exists()


def test_when_the_demo_itself_is_killed_its_processes_die_with_it(tmp_path):
    with start("--seconds", "300", "--without-spark", out=tmp_path / "report") as process:
        try:
            until(lambda: len(workers(process.pid)) >= len(robot.COMPONENTS) // 2, "the robot starts")
            process.kill()
            process.communicate(timeout=WATCHDOG_S)
            until(lambda: not workers(process.pid), "the processes die")
        finally:
            for stage in stages(process.pid):
                shutil.rmtree(stage)


@pytest.mark.parametrize("seconds", ["0", "-3", "1e9", "many"])
def test_bad_arguments_are_named_and_start_nothing(tmp_path, seconds):
    with start("--seconds", seconds, "--without-spark", out=tmp_path / "report") as process:
        printed, _ = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 2
    assert "--seconds" in printed
    assert stages(process.pid) == []


def test_a_terminal_gets_a_live_view(tmp_path):
    import pty

    # Spark's line is the same as in plain lines (test_demo_with_spark.py), and its start takes longer than all of this.
    command = [sys.executable, "-m", "demo", "--seconds", "2", "--seed", "2", "--out", str(tmp_path)]
    command += ["--without-spark", "--stalled-after", "120"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "150", "LINES": "50"}
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # EIO: the other side is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert process.wait(WATCHDOG_S) == 0, text
    for words in ("killed at random", "max lag", "● recorder", "kills", "Audit", "PASS"):
        assert words in text.replace("\N{NO-BREAK SPACE}", " ")
