# SPDX-License-Identifier: Apache-2.0
"""The code that flatc generates from docs/spec/call.fbs: another reader and writer of every message of calls.

The package does not use it (envelope.py is written by hand for speed and checks every offset), so it is generated when
the tests begin.
"""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType

SCHEMA = Path(__file__).resolve().parents[2] / "docs/spec/call.fbs"


def generate() -> dict[str, ModuleType]:
    """Return a module for each table and enum, by its name."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["flatc", "--python", "-o", scratch, SCHEMA], check=True)
        return {path.stem: _load(path) for path in Path(scratch, "slipring/call").glob("[A-Z]*.py")}


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
