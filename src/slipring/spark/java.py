# SPDX-License-Identifier: Apache-2.0
"""Is there a Java that Spark can run on? Asked before Spark is, whose own answer is hard to read."""

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
    """Spark has no Java to run on, or too old a one."""


def executable() -> str:
    """The java that Spark will start."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = Path(home) / "bin" / "java"
        if not path.is_file():
            raise NoJava(f"JAVA_HOME={home} has no bin/java: change or unset JAVA_HOME, or {INSTALL}")
        return str(path)
    found = shutil.which("java")
    if found is None:
        raise NoJava(f"Spark needs Java {OLDEST} or later, and there is no java on PATH: {INSTALL}")
    return found


def check() -> None:
    """Raise NoJava unless Spark can run."""
    java = executable()
    asked = local_spark.run([java, "-version"])
    said = asked.stderr + asked.stdout
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None:
        raise NoJava(f"{java} -version does not tell a version (it ended with {asked.returncode}): {INSTALL}")
    if int(version[1]) < OLDEST:
        raise NoJava(f"{java} is Java {version[1]}, and Spark needs {OLDEST} or later: {INSTALL}")
