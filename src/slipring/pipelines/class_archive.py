# SPDX-License-Identifier: Apache-2.0
"""A cache of the user's that makes Spark start faster: the command of its JVM, and archives of its classes.

    ~/.cache/slipring/spark-classes-<key>/command.json   what Spark's launcher answers, so that it is asked once
    ~/.cache/slipring/spark-classes-<key>/record.jsa     the classes that a job of that name loads

The key is of the Java and the Spark; with another one, another directory is used. An archive is written by the JVM of
the first command of its name, at its end, under a name of its own, and renamed when it is whole. A lock lets one
process do that at a time. A JVM passes over an archive that does not fit it. The directory is 0700 and the user's own:
who could write there could run code as the user. Nothing here has to work: without the cache Spark starts as it would
anyway.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from .failures import JobFailed

INCUBATING = (
    "--add-modules=jdk.incubator.vector"  # for Spark ML alone, and the JVM warns of it at every start
)
JAVA = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS")  # the JVM's own variables
SUBMIT = "org.apache.spark.deploy.SparkSubmit"
LAUNCHER = "org.apache.spark.launcher.Main"


class Archive:
    """The cache, for one job: "record", "replay" or "report"."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._directory: Path | None = None
        self._lock: int | None = None

    def command(self, home: Path) -> list[str]:
        """The command that starts Spark's JVM, up to its main class."""
        java = _java()
        self._directory = _directory(java, home)
        kept = self._directory / "command.json" if self._directory else None
        if kept is not None:
            with suppress(OSError, ValueError):
                found = json.loads(kept.read_text())
                if isinstance(found, list) and all(isinstance(one, str) for one in found):
                    return found
        command = _ask_launcher(java, home)
        if kept is not None:
            with suppress(OSError):
                temporary = kept.with_name(f".{kept.name}.{os.getpid()}")
                temporary.write_text(json.dumps(command))
                os.replace(temporary, kept)
        return command

    def options(self, *, make: bool) -> list[str]:
        """For the JVM: to use the archive, or to make it when there is none and nobody else does."""
        if self._directory is None or any("SharedArchiveFile" in os.environ.get(name, "") for name in JAVA):
            return []  # the user may have an archive of their own
        path = self._directory / f"{self._job}.jsa"
        if path.exists():
            return ["-Xshare:auto", "-Xlog:disable", f"-XX:SharedArchiveFile={path}"]
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
                os.replace(unfinished, unfinished.with_name(f"{self._job}.jsa"))
            unfinished.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None

    def _unfinished(self) -> Path:
        assert self._directory is not None
        return self._directory / f".{self._job}.jsa-unfinished"

    def _take_lock(self) -> bool:
        assert self._directory is not None
        try:
            self._lock = os.open(
                self._directory / f"{self._job}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
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


def _directory(java: Path, home: Path) -> Path | None:
    """The directory of this Java and this Spark; None: there is none that only this user can write to."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    try:
        facts = [str(path.resolve()) + str(path.stat().st_mtime_ns) for path in (java, home / "jars")]
        key = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]
        place = Path(base) / "slipring" / f"spark-classes-{key}"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (place.parent, place):
            found = os.lstat(directory)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                return None
            if stat.S_IMODE(found.st_mode) != 0o700:
                os.chmod(directory, 0o700)
        return place
    except (OSError, RuntimeError):
        return None


def _ask_launcher(java: Path, home: Path) -> list[str]:
    asked = [str(java), "-Xmx128m", "-cp", f"{home}/jars/*", LAUNCHER, SUBMIT, "pyspark-shell"]
    scala = next((path.name.split("_")[1].split("-")[0] for path in home.glob("jars/spark-core_*.jar")), "")
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": scala}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, start_new_session=True)
    found = [part for part in done.stdout.replace("\n", "").split("\0") if part]
    if done.returncode or SUBMIT not in found:
        raise JobFailed(f"Spark's launcher in {home} does not tell its command: {done.stderr.strip()[:500]}")
    return [part for part in found[: found.index(SUBMIT) + 1] if part != INCUBATING]
