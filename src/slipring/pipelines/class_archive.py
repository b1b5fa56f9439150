# SPDX-License-Identifier: Apache-2.0
"""What makes Spark start faster: the command of its JVM, and an archive of its classes, in the user's cache.

The directory is that of the installation of Spark (local_spark.py). command.json keeps what Spark's launcher answers,
so that it is asked once, and the Java and the jars it is good for: with others both files are made again. The archive
is written by the JVM of the first command, at its end, under a name of its own, and renamed when it is whole. A lock
lets one process do that at a time. A JVM passes over an archive that does not fit it. Nothing here has to work: without
the cache Spark starts as it would anyway.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from slipring import local_spark

from .errors import JobFailed

INCUBATING = (
    "--add-modules=jdk.incubator.vector"  # for Spark ML alone, and the JVM warns of it at every start
)
JAVA = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")  # the JVM's own variables
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
LAUNCHER = "org.apache.spark.launcher.Main"


class Archive:
    """The cache, for one JVM."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._lock: int | None = None

    def command(self, home: Path) -> list[str]:
        """The command that starts Spark's JVM, up to its main class."""
        java = _java()
        self._directory = local_spark.cache(home)
        if self._directory is None:
            return _ask_launcher(java, home)
        try:
            kept, of = self._directory / "command.json", _facts(java, home)
        except OSError:  # no whole installation
            return _ask_launcher(java, home)
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(kept.read_text())
            if found["of"] == of:
                return [str(word) for word in found["command"]]
        command = _ask_launcher(java, home)
        with suppress(OSError):
            self._whole().unlink(missing_ok=True)
            temporary = kept.with_name(f".{kept.name}.{os.getpid()}")
            temporary.write_text(json.dumps({"of": of, "command": command}))
            os.replace(temporary, kept)
        return command

    def options(self, *, make: bool) -> list[str]:
        """For the JVM: to use the archive, or to make it when there is none and nobody else does."""
        if self._directory is None or any("SharedArchiveFile" in os.environ.get(name, "") for name in JAVA):
            return []  # the user may have an archive of their own
        if self._whole().exists():
            return ["-Xshare:auto", "-Xlog:disable", f"-XX:SharedArchiveFile={self._whole()}"]
        if not make or not self._take_lock():
            return []
        self._unfinished().unlink(missing_ok=True)
        return ["-Xshare:auto", "-Xlog:disable", f"-XX:ArchiveClassesAtExit={self._unfinished()}"]

    @property
    def is_made_here(self) -> bool:
        """Whether the JVM of this process writes it at its end."""
        return self._lock is not None

    def finish(self, ended_well: bool) -> None:
        """The JVM has ended: what it made is an archive, or is nothing."""
        if self._lock is None:
            return
        unfinished = self._unfinished()
        with suppress(OSError):
            if ended_well and unfinished.exists():
                os.replace(unfinished, self._whole())
            unfinished.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None

    def _whole(self) -> Path:
        assert self._directory is not None
        return self._directory / "classes.jsa"

    def _unfinished(self) -> Path:
        return self._whole().with_name(".classes.jsa-unfinished")

    def _take_lock(self) -> bool:
        assert self._directory is not None
        try:
            self._lock = os.open(
                self._directory / "classes.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if self._lock is not None:
                os.close(self._lock)
            self._lock = None
        return self._lock is not None


def _java() -> Path:
    """The java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    if not found or not os.path.isfile(found):
        from slipring.spark import java

        java.check()  # it says what to do
        raise JobFailed(f"there is no {found}")
    return Path(found)


def _facts(java: Path, home: Path) -> list[str]:
    """Other ones after an update of either."""
    return [f"{path.resolve()} {path.stat().st_mtime_ns}" for path in (java, home / "jars")]


def _ask_launcher(java: Path, home: Path) -> list[str]:
    asked = [str(java), "-Xmx128m", "-cp", f"{home}/jars/*", LAUNCHER, SUBMIT, "pyspark-shell"]
    scala = next((path.name.split("_")[1].split("-")[0] for path in home.glob("jars/spark-core_*.jar")), "")
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": scala}
    launcher = local_spark.run(asked, env=environment)
    found = [part for part in launcher.stdout.replace("\n", "").split("\0") if part]
    if launcher.returncode or SUBMIT not in found:
        raise JobFailed(
            f"Spark's launcher in {home} ended with {launcher.returncode} and did not print its command: "
            f"{launcher.stderr.strip()[:500] or 'no message'}"
        )
    return [part for part in found[: found.index(SUBMIT) + 1] if part != INCUBATING]
