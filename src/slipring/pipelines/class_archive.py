# SPDX-License-Identifier: Apache-2.0
"""A cache that makes Spark start faster: the command of its JVM, and an archive of its classes.

The directory is that of the installation of Spark (local_spark.py). command.json keeps the answer of Spark's launcher,
with the Java and the jars for which it is valid; for others both files are made again. The JVM of the first command
writes the archive at its end, under a temporary name. It is renamed when it is complete. A lock lets one process at a
time do that. A JVM ignores an archive that does not fit. Everything here is optional: without the cache Spark only
starts more slowly.
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

INCUBATING = "--add-modules=jdk.incubator.vector"  # only for Spark ML; the JVM warns of it at every start
JAVA = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")  # the JVM's own variables
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
LAUNCHER = "org.apache.spark.launcher.Main"


class Archive:
    """The cache, as one JVM uses it."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._lock: int | None = None

    def command(self, home: Path) -> list[str]:
        """Return the command that starts Spark's JVM, up to its main class."""
        java = _java()
        self._directory = local_spark.cache(home)
        if self._directory is None:
            return _ask_launcher(java, home)
        try:
            kept, of = self._directory / "command.json", _facts(java, home)
        except OSError:  # the installation is incomplete
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
        """Return options of the JVM: use the archive, or make it if there is none and no other process does."""
        if self._directory is None or any("SharedArchiveFile" in os.environ.get(name, "") for name in JAVA):
            return []  # the user has an archive of their own
        if self._whole().exists():
            return ["-Xshare:auto", "-Xlog:disable", f"-XX:SharedArchiveFile={self._whole()}"]
        if not make or not self._take_lock():
            return []
        self._unfinished().unlink(missing_ok=True)
        return ["-Xshare:auto", "-Xlog:disable", f"-XX:ArchiveClassesAtExit={self._unfinished()}"]

    @property
    def is_made_here(self) -> bool:
        """Whether the JVM of this process writes the archive at its end."""
        return self._lock is not None

    def finish(self, ended_well: bool) -> None:
        """Keep the archive of a JVM that has ended well; remove it otherwise."""
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
    """Return the java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home else shutil.which("java")
    if not found or not os.path.isfile(found):
        from slipring.spark import java

        java.check()  # raises with advice
        raise JobFailed(f"{found} does not exist: set JAVA_HOME to a Java installation")
    return Path(found)


def _facts(java: Path, home: Path) -> list[str]:
    """Return facts that change with an update of Java or Spark."""
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
