# SPDX-License-Identifier: Apache-2.0
"""The Java that Spark runs on, checked before Spark starts, because Spark's own errors are hard to read."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from slipring import local_spark
from slipring.errors import SlipringError

OLDEST = 17
INSTALL = "install one, as root: apt-get install openjdk-17-jre-headless"


class NoJava(SlipringError):
    """There is no Java for Spark, or it is too old."""


def executable() -> str:
    """Return the path of the java that Spark will start."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise NoJava(f"JAVA_HOME={home} has no bin/java: change or unset JAVA_HOME, or {INSTALL}")
        return str(path)
    found = shutil.which("java")
    if found is None:
        raise NoJava(f"Spark needs Java {OLDEST} or later, and PATH has no java: {INSTALL}")
    return found


def check() -> None:
    """Raise NoJava unless Spark can run."""
    java = executable()
    done = local_spark.run([java, "-version"])
    version = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if version is None:
        raise NoJava(f"{java} -version printed no version (exit status {done.returncode}): {INSTALL}")
    if int(version[1]) < OLDEST:
        raise NoJava(f"{java} is Java {version[1]}, but Spark needs {OLDEST} or later: {INSTALL}")
