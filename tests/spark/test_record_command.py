# SPDX-License-Identifier: Apache-2.0
"""``slipring record``: the real command, ended by Ctrl-C as a terminal sends it, to all its processes."""

import os
import signal
import subprocess
import sys

import pytest

from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.verify import verify
from support.waiting import eventually

WATCHDOG_S = 300


def recorded(path) -> int:
    if not (path / "_slipring.json").exists():
        return 0
    sessions = Lake.open(path).state.sessions.values()
    return sum(run.messages for one in sessions for runs in one.coverage.values() for run in runs)


@pytest.mark.timeout(2 * WATCHDOG_S)
def test_ctrl_c_ends_a_recording_with_everything_published_so_far(bus, bus_root, tmp_path, fast_spark):
    path = tmp_path / "lake"
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send(b"0")
    command = [sys.executable, "-P", "-m", "slipring.cli", "--bus", "test", "--root", str(bus_root)]
    command += ["record", "t", "--to", str(path), "--pre-buffer", "--every", "0", "--master", "local[2,4]"]
    environment = {**os.environ, "JDK_JAVA_OPTIONS": fast_spark["spark.driver.extraJavaOptions"]}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            eventually(
                lambda: recorded(path) or process.poll() is not None, "a message in the lake", WATCHDOG_S
            )
            assert process.poll() is None, process.stderr.read()
            publisher.send(b"1")
            os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=WATCHDOG_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGINT, stderr
    assert "t: 2 messages" in stdout and f"recorded 2 messages into {path}" in stdout
    assert "src/slipring/" not in stderr, (
        stderr
    )  # no traceback of ours; Spark's own process may complain of its end
    assert bus.cursors("t") == [] and Lake.open(path).state.sessions.popitem()[1].finished
    assert verify(path).complete
