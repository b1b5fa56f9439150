# SPDX-License-Identifier: Apache-2.0
"""Spark on this machine: whether a master is local, how processes are started, the user's cache for an installation.

    ~/.cache/slipring/spark-<key>/installed      a link to the installation, whose path makes the key
                                  home/          a Spark home without archives of Python (spark/spark_home.py)
                                  command.json   the command of Spark's JVM (pipelines/class_archive.py)
                                  classes.jsa    Spark's classes, for the JVM (the same)

Programs and classes are run from there, so that nobody else may be able to write to it. PySpark is not imported here:
that takes longer than what this is for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

_INSTALLED = "installed"


def is_local(master: str) -> bool:
    """Whether all of Spark runs in one JVM, here: local, local[4], local[*,4]. local-cluster has executors."""
    return master == "local" or master.startswith("local[")


def start(command: list[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that Ctrl-C does not reach: it has a session of its own, and before that a blocked signal.

    A signal of that moment is still pending when the session is there. It is taken, since Java unblocks it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(command, start_new_session=True, preexec_fn=_take_interrupt, **options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _take_interrupt() -> None:
    signal.sigtimedwait({signal.SIGINT}, 0)


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a process that Ctrl-C does not reach, as subprocess.run does, and return what it printed."""
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            said, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, said, errors)


def cache(installed: Path) -> Path | None:
    """The directory for this installation; None when the user has none that nobody else can write to."""
    key = hashlib.sha256(str(installed).encode()).hexdigest()[:16]
    with suppress(
        OSError, RuntimeError
    ):  # a read-only or unknown home directory: Spark only starts more slowly
        above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slipring"
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_only_ours(above):
            return None
        found = above / f"spark-{key}"
        if not found.is_dir():
            _remove_stale(above)
            make_links(found, {_INSTALLED: installed})
        if is_only_ours(found) and (found / _INSTALLED).readlink() == installed:
            return found
    return None


def make_links(directory: Path, links: dict[str, Path]) -> None:
    """Make a directory of links, whole or not at all; another process may be making it too."""
    made = Path(tempfile.mkdtemp(prefix="unfinished-", dir=directory.parent))
    for name, target in links.items():
        (made / name).symlink_to(target)
    try:
        made.rename(directory)
    except OSError:
        shutil.rmtree(made)
        if not directory.is_dir():
            raise


def is_only_ours(directory: Path) -> bool:
    """Whether it is a directory of this user's that no other can write to."""
    found = directory.lstat()
    is_closed = not stat.S_IMODE(found.st_mode) & 0o022
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and is_closed


def _remove_stale(above: Path) -> None:
    """Remove the directories of installations that no longer exist."""
    for directory in above.glob("spark-*"):
        link = directory / _INSTALLED
        if link.is_symlink() and not link.exists():
            shutil.rmtree(directory, ignore_errors=True)
