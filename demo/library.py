# SPDX-License-Identifier: Apache-2.0
"""The library as the show found it: a copy in the show's own directory, which all its processes run from.

An editable install looks at every import whether the C core has to be built again. The show starts hundreds
of interpreters and must neither wait for a build nor change the library half-way, so they start without
site-packages (`-S`): the standard library, this copy and the demo are all they need, and they start in a
third of the time.
"""

import os
import shutil
import sys
from pathlib import Path

import slipring
from slipring import _native

_REPOSITORY = Path(__file__).resolve().parents[1]


def copy(to: Path) -> None:
    package = Path(slipring.__file__).parent
    shutil.copytree(package, to / "slipring", ignore=shutil.ignore_patterns("_native", "cli", "__pycache__"))
    compiled = Path(str(_native.__file__))
    if not (to / "slipring" / compiled.name).exists():
        shutil.copy2(compiled, to / "slipring")


def interpreter() -> list[str]:
    return [sys.executable, "-S"]


def environment(copied_to: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SLIPRING"))}
    path = os.pathsep.join((str(copied_to), str(_REPOSITORY)))
    return {**kept, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(copied_to / "pycache")}
