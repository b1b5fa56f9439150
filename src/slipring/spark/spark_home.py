# SPDX-License-Identifier: Apache-2.0
"""A Spark home without PySpark's archives, in which Spark's Python processes start three times as fast.

Spark puts python/lib/pyspark.zip of its home first on the module path of each Python process that it starts. Python
compiles every module of an archive again at every start. That takes 0.9 s of processor time instead of 0.3 s, for each
of the four or more processes of a query. In a home without the archive they import the installed PySpark, whose modules
are already compiled.

The home is a directory of links in the user's cache (local_spark.py). It is used only for sessions on this host whose
Python processes run this interpreter: other interpreters may have no PySpark except the archive.
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
LINKED = ("bin", "conf", "data", "jars", "sbin")  # everything that Spark uses of its home except "python"


@contextlib.contextmanager
def without_archives() -> Iterator[None]:
    """Give the Java process that starts inside the block this home; the variable is set only there."""
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
    """Return the home; None if pip did not install this PySpark or the user has no private cache directory."""
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
