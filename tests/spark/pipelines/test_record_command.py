# SPDX-License-Identifier: Apache-2.0
"""``slipring record`` as a command: ended by itself or by Ctrl-C, which a terminal sends to all its processes.

Every end without an error prints a summary and nothing else: no trace of Java or Python.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

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


class Command:
    """The command in its own process group, as a shell starts it, with its lines on stderr as they come."""

    def __init__(self, bus_root, path, environment, *options):
        command = [sys.executable, "-P", "-m", "slipring.cli", "--bus", "test", "--root", str(bus_root)]
        command += ["record", "t", "--to", str(path), "--master", "local[2,4]", *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
        self.path = path
        self.lines = []
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def says(self, text):
        eventually(
            lambda: any(text in line for line in list(self.lines)) or self.process.poll() is not None,
            f"the line {text!r}",
            WATCHDOG_S,
        )
        assert any(text in line for line in self.lines), self.lines

    def has(self, count):
        eventually(
            lambda: recorded(self.path) >= count or self.process.poll() is not None,
            f"{count} messages",
            WATCHDOG_S,
        )
        assert self.process.poll() is None, self.lines

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self, code=0):
        """Return its summary. All lines on stderr must be its own."""
        stdout = self.process.stdout.read()
        assert self.process.wait(WATCHDOG_S) == code, self.lines
        self._reader.join()
        assert all(line.startswith("slipring: recording: ") for line in self.lines), "".join(self.lines)
        return stdout

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def command(bus_root, tmp_path, fast_spark):
    java = {"JDK_JAVA_OPTIONS": fast_spark["spark.driver.extraJavaOptions"]}
    environment = {**os.environ, **java, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    started = []

    def start(*options):
        started.append(Command(bus_root, tmp_path / "lake", environment, *options))
        return started[-1]

    yield start
    for one in started:
        one.close()


pytestmark = pytest.mark.timeout(2 * WATCHDOG_S)


def test_ctrl_c_ends_a_recording_with_everything_published_so_far_and_without_a_trace(bus, command):
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send(b"0")
    running = command("--pre-buffer", "--every", "0")
    running.has(1)
    publisher.send(b"1")
    running.interrupt()
    stdout = running.ended(-signal.SIGINT)
    assert "t: 2 messages" in stdout and f"recorded 2 messages into {running.path}" in stdout
    assert bus.cursors("t") == [] and Lake.open(running.path).state.sessions.popitem()[1].finished
    assert verify(running.path).complete


def test_ctrl_c_while_spark_starts_ends_the_recording_at_once(bus, command):
    publisher = bus.publisher("t", delivery="reliable")
    running = command()
    running.says("starting Spark… ")
    publisher.send_many([b"0", b"1"])
    running.interrupt()
    stdout = running.ended(-signal.SIGINT)
    assert "recorded 2 messages" in stdout
    assert bus.cursors("t") == [] and verify(running.path).complete


def test_a_recording_for_seconds_has_the_messages_of_those_seconds_after_the_command(bus, command):
    publisher = bus.publisher("t", delivery="reliable")
    running = command("--for", "2", "--summary", "json")
    eventually(lambda: bus.cursors("t") or running.process.poll() is not None, "its cursor", WATCHDOG_S)
    sent = 0
    while running.process.poll() is None and bus.cursors("t"):
        publisher.send(b"%d" % sent)
        sent += 1
        time.sleep(0.01)
    told = json.loads(running.ended())
    assert 0 < told["messages"] < sent, (
        "what came after two seconds, while Spark started or ended, is not in it"
    )
    (found,) = verify(running.path).generations
    assert found.messages == told["messages"] and found.lost == 0


def test_a_recording_until_idle_ends_without_a_trace(bus, command):
    bus.publisher("t").send(b"0")
    running = command("--until-idle", "0.2", "--pre-buffer")
    assert "recorded 1 message into" in running.ended()
    assert verify(running.path).complete
