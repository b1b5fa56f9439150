# SPDX-License-Identifier: Apache-2.0
"""A Spark home without PySpark's archives, so that Spark's Python processes start three times as fast.

Spark puts python/lib/pyspark.zip of its home before everything else on the path of each Python process it starts, and
Python compiles every module of an archive again at every start: 0.9 s of processor time instead of 0.3 s, for each of
the four or more processes of a query. In a home that has no such archive they import the installed PySpark instead,
whose modules are compiled already.

The home is a directory of links in the user's cache directory, one for each installation of PySpark. It is used only
for sessions on this host whose Python processes run this interpreter: others may have no PySpark but the archive's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "SPARK_HOME"
LINKED = ("bin", "conf", "data", "jars", "sbin")  # all that Spark takes from its home, but for "python"


@contextlib.contextmanager
def without_archives() -> Iterator[None]:
    """The Java process that is started inside the block has this home; the variable is set only so long."""
    path = _prepared() if VARIABLE not in os.environ and _workers_run_this_python() else None
    if path is None:
        yield
        return
    os.environ[VARIABLE] = str(path)
    try:
        yield
    finally:
        del os.environ[VARIABLE]


def _workers_run_this_python() -> bool:
    chosen = shutil.which(os.environ.get("PYSPARK_PYTHON", "python3"))
    return chosen is not None and os.path.abspath(chosen) == os.path.abspath(sys.executable)


def _prepared() -> Path | None:
    """None: this PySpark is not laid out as pip installs it, or the user has no cache directory of their own."""
    import pyspark

    installed = Path(pyspark.__file__).parent
    if not (installed / "bin/spark-submit").is_file() or not (installed / "jars").is_dir():
        return None
    key = hashlib.sha256(str(installed).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slipring"
    home = cache / f"spark-home-{key}"
    with contextlib.suppress(OSError):  # a read-only or missing home directory: Spark only starts more slowly
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not home.is_dir():
            _remove_stale(cache)
            _link(installed, home)
        if _is_only_ours(cache) and _is_only_ours(home) and _leads_to(home, installed):
            return home
    return None


def _link(installed: Path, home: Path) -> None:
    """Whole or not at all; another process may be making it, too."""
    made = Path(tempfile.mkdtemp(prefix="unfinished-", dir=home.parent))
    for name in LINKED:
        (made / name).symlink_to(installed / name)
    try:
        made.rename(home)
    except OSError:
        shutil.rmtree(made)
        if not home.is_dir():
            raise


def _remove_stale(cache: Path) -> None:
    """Homes of installations that are gone."""
    for home in cache.glob("spark-home-*"):
        if (home / "jars").is_symlink() and not (home / "jars").exists():
            shutil.rmtree(home)


def _is_only_ours(directory: Path) -> bool:
    """Programs are started from here: nobody else may have a say in which."""
    found = directory.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not stat.S_IMODE(found.st_mode) & 0o022
    )


def _leads_to(home: Path, installed: Path) -> bool:
    return all((home / name).readlink() == installed / name for name in LINKED)
