# SPDX-License-Identifier: Apache-2.0
"""The JVM of Spark, for jobs that start their own: fast, without output, and out of reach of Ctrl-C.

PySpark starts a JVM through two shell scripts and another JVM, which composes the command. Here the command is kept in
a cache of the user's, together with an archive of Spark's classes (class_archive.py). The JVM boots while this process
imports PySpark. It has a process session of its own, so that Ctrl-C reaches this process alone. It ends with this
process, however that ends: its input is a pipe from here.

`of_a_command` is for commands: the output of the JVM and its Python processes is kept, and shown if Spark fails. After
a normal end it is not shown.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from slipring import local_spark

from . import class_archive
from .errors import JobFailed, MissingExtra, SparkGone

KEPT_LINES = 400
DELETES_S = 3.0
STARTS_S = 10.0  # a JVM that is interrupted while it starts may not end by itself
ENDS_S = 300.0  # it may be writing an archive on a busy machine
POLL_S = 0.02
QUICK = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
)  # half the processor time of a short job, and slow for a long one
LOG4J = Path(__file__).parents[1] / "spark" / "log4j2.properties"
# A Spark with settings of the user's is started by Spark's own script, which handles all of them.
SETTINGS = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_SUBMIT_OPTS",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_DIST_CLASSPATH",
)

_command: _Command | None = None
_running: Jvm | None = None
is_starting = False  # a JVM, which cannot be ended yet


class _Command:
    """The output of the JVM of a command."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)


@contextmanager
def of_a_command(report: Callable[[str], None]) -> Iterator[None]:
    """Keep the output of a JVM that is started inside the block, and end it with the block. It writes an archive of its
    classes, if there is none.

    report: called with a line if that takes a while."""
    global _command
    _command = kept = _Command()
    try:
        yield
    except (JobFailed, SparkGone) as error:
        if not getattr(error, "ours", False):
            sys.stderr.write("".join(kept.lines))
        raise
    finally:
        _command = None
        if _running is not None:
            if _running.makes_archive and _running.is_alive:
                report("writing an archive of Spark's classes, so that it starts faster next time")
            _running.end()


def kill() -> bool:
    """End the JVM that a job has started, whatever it does. Return False if there is none."""
    if _running is not None:
        _running.kill()
    return _running is not None


def needed(job: str) -> None:
    """Raise MissingExtra unless PySpark is installed."""
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtra(f'{job} needs Spark: pip install "slipring[spark]"')


def launch(job: str, master: str, *, short: bool = False) -> Jvm | None:
    """Start the JVM of this process, unless it has one. The caller connects to it later.

    short: the job ends before a JVM is warm."""
    global _running, is_starting
    if "pyspark" in sys.modules and _gateway_of_this_process() is not None:
        return None
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return None  # spark-submit, for example, has started one
    is_starting = True
    try:
        _running = Jvm(job, master, short=short)
    finally:
        is_starting = False
    return _running


def _gateway_of_this_process() -> Any:
    from pyspark import SparkContext

    return SparkContext._gateway


class Jvm:
    """A JVM that is starting or running."""

    def __init__(self, job: str, master: str, *, short: bool) -> None:
        needed(job)
        self._short = short
        self._is_connected = False
        self._terminated_s: float | None = None
        self._archive = class_archive.Archive()
        self._place = tempfile.mkdtemp(prefix="slipring-spark-")
        self._info = os.path.join(self._place, "connection")
        quiet = _command is not None
        environment = dict(os.environ)
        environment |= {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": self._info}
        # Spark's workers need the Python that has slipring.
        environment.setdefault("PYSPARK_PYTHON", sys.executable)
        try:
            self._process = local_spark.start(
                self._arguments(master, environment, make_archive=quiet),
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if quiet else None,
                stderr=subprocess.STDOUT if quiet else None,
            )
        except BaseException:
            self._clean()
            raise
        if _command is not None:
            assert self._process.stdout is not None
            lines = self._process.stdout, _command.lines
            threading.Thread(target=_keep, args=lines, name="slipring-spark-output", daemon=True).start()

    def _arguments(self, master: str, environment: dict[str, str], *, make_archive: bool) -> list[str]:
        home = _home()
        log = f"-Dlog4j2.configurationFile={LOG4J.as_uri()}"
        settings = ["--conf", f"spark.master={master}"]
        if _has_settings(home):
            submit = shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
            return [str(home / "bin" / "spark-submit"), *settings, *submit]
        environment["PYTHONHASHSEED"] = "0"
        if is_local := local_spark.is_local(master):
            environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if not is_local or environment["PYSPARK_PYTHON"] != sys.executable:
            environment["SPARK_HOME"] = str(home)  # others import the installed PySpark
        java, *options = self._archive.command(home)
        archive = self._archive.options(make=make_archive)
        return [java, log, *archive, *(QUICK if self._short else ()), *options, *settings, "pyspark-shell"]

    @property
    def makes_archive(self) -> bool:
        return self._archive.is_made_here

    def connect(self) -> None:
        """Make it the JVM of the Spark sessions of this process."""
        from pyspark import SparkContext
        from pyspark.java_gateway import launch_gateway

        port, secret = self._connection()
        with _in_environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        gateway.proc = self._process
        self._is_connected = True
        with SparkContext._lock:
            SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm

    def _connection(self) -> tuple[int, str]:
        """Return port and secret, which the JVM writes into a file as soon as it is ready."""
        try:
            while not os.path.isfile(self._info):
                if self._process.poll() is not None:
                    raise JobFailed(
                        f"Spark's JVM ended while it started (exit code {self._process.returncode})"
                    )
                time.sleep(POLL_S)
            with open(self._info, "rb") as file:
                port, length = struct.unpack(">ii", file.read(8))
                return port, file.read(length).decode()
        finally:
            self._clean()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it, whatever it does. The first call lets it delete its files; calls after DELETES_S kill it."""
        if self._terminated_s is None:
            self._terminated_s = time.monotonic()
            self._process.terminate()
        elif time.monotonic() - self._terminated_s > DELETES_S:
            self._process.kill()

    def end(self) -> None:
        """End it, wait for it, and keep the archive if it wrote one."""
        global _running
        _running = None
        with suppress(ImportError):
            from pyspark import SparkContext

            gateway = SparkContext._gateway
            if gateway is not None and gateway.proc is self._process:
                SparkContext._gateway = SparkContext._jvm = None
                gateway.shutdown()
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(ENDS_S if self._is_connected else STARTS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._clean()
        self._archive.finish(self._process.returncode == 0)

    def _clean(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)


def _home() -> Path:
    """Return the directory of Spark."""
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    found = importlib.util.find_spec("pyspark")
    assert found is not None and found.submodule_search_locations
    return Path(found.submodule_search_locations[0])


def _has_settings(home: Path) -> bool:
    files = ("spark-defaults.conf", "spark-env.sh", "log4j2.properties", "java-opts")
    return any(os.environ.get(name) for name in SETTINGS) or any(
        (home / "conf" / name).exists() for name in files
    )


def _keep(output: IO[bytes], lines: deque[str]) -> None:
    with output:
        for line in output:
            lines.append(line.decode(errors="replace"))


@contextmanager
def _in_environment(variables: dict[str, str]) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)
