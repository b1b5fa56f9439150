# SPDX-License-Identifier: Apache-2.0
"""A Spark home without PySpark's archives, so that Spark's Python processes start three times as fast.

Spark puts python/lib/pyspark.zip of its home before everything else on the path of each Python process it starts, and
Python compiles every module of an archive again at every start: 0.9 s of processor time instead of 0.3 s, for each of
the four or more processes of a query. In a home that has no such archive they import the installed PySpark instead,
whose modules are compiled already.

The home is a directory of links in the user's cache (local_spark.py). It is used only for sessions on this host whose
Python processes run this interpreter: others may have no PySpark but the archive's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from slipring import local_spark

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
    cache = local_spark.cache(installed)
    if cache is None:
        return None
    home, links = cache / "home", {name: installed / name for name in LINKED}
    with contextlib.suppress(OSError):
        if not home.is_dir():
            local_spark.make_links(home, links)
        if local_spark.is_only_ours(home) and all((home / name).readlink() == links[name] for name in links):
            return home
    return None
