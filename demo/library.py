# SPDX-License-Identifier: Apache-2.0
"""A copy of the library in the run's own directory, for the interpreters that Spark starts.

An editable install looks at every import whether the C core has to be built again. Spark starts many interpreters and
must neither wait for a build nor get another library half-way.
"""

import os
import shutil
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


def environment(copied_to: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SLIPRING"))}
    path = os.pathsep.join((str(copied_to), str(_REPOSITORY)))
    return {**kept, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(copied_to / "pycache")}
