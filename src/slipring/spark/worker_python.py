# SPDX-License-Identifier: Apache-2.0
"""The Python of Spark's planners and workers: the one that runs the program, unless the user chose another.

Spark runs $PYSPARK_PYTHON, or the python3 on PATH, which may be one without slipring. Spark reads the variable twice:
when the JVM starts, to look for formats, and when the context is made, for the workers. Later, `settle` changes the
Python of a session, and registering makes the format known to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

from slipring.errors import SlipringError

VARIABLE = "PYSPARK_PYTHON"
_SPARKS_DEFAULT = "python3"
_TRY = "import slipring.spark.source.data_source"


class NoSlipring(SlipringError):
    """The Python that Spark runs for this session does not have slipring."""

    def __init__(self, found: str, where: str, why: str) -> None:
        super().__init__(
            f"{where} runs Python as {found!r}, which cannot import slipring.spark ({why}): set {VARIABLE} to a Python "
            f'with "slipring[spark]", such as {sys.executable}, before {where} starts, or install slipring there',
            argument=VARIABLE,
        )


def prefer_this() -> None:
    """Choose this Python for JVMs and contexts that start from now on, unless the user chose one."""
    os.environ.setdefault(VARIABLE, sys.executable)


def settle(context: Any) -> bool:
    """Make a live context run this Python unless the user chose another. Return whether that changed anything.

    Raise NoSlipring if the chosen Python does not have slipring."""
    chosen = context.pythonExec
    if chosen == sys.executable:
        return False
    found = shutil.which(chosen)
    if found and os.path.dirname(os.path.abspath(found)) == os.path.dirname(sys.executable):
        return False  # the same environment under another name
    if chosen == _SPARKS_DEFAULT and os.environ.get(VARIABLE) != _SPARKS_DEFAULT:
        context.pythonExec = sys.executable
        return True
    tried = subprocess.run([chosen, "-c", _TRY], capture_output=True, text=True) if found else None
    if tried is None or tried.returncode != 0:
        why = tried.stderr.strip().splitlines()[-1] if tried and tried.stderr.strip() else "it cannot be run"
        raise NoSlipring(chosen, "the session", why)
    return False


def check_server(spark: Any, source: str) -> None:
    """Raise NoSlipring unless the Python of a Spark Connect server has slipring."""
    try:
        spark.read.format(source).load().schema  # noqa: B018 - asks the server
    except Exception as error:
        missing = [line for line in str(error).splitlines() if "No module named" in line]
        if missing:
            raise NoSlipring("its own", "the Spark Connect server", missing[-1].strip()) from error
        if "option subscribe" not in str(error):  # slipring's own error: it is installed there
            raise
