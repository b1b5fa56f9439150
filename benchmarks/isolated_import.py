# SPDX-License-Identifier: Apache-2.0
"""Runs a module of this checkout in any interpreter: ``python -P isolated_import.py MODULE ARGUMENT…``.

Rivals have an environment of their own, so that they never meet our dependencies, nor our build. Where Slipring is not
installed, ``slipring`` is an empty package that holds ``slipring.bench`` and nothing else.
"""

import runpy
import sys
import types
from importlib.util import find_spec
from pathlib import Path

if __name__ == "__main__":
    checkout = Path(__file__).parents[1]
    if find_spec("slipring") is None:
        isolated = types.ModuleType("slipring")
        isolated.__path__ = [str(checkout / "src" / "slipring")]
        sys.modules["slipring"] = isolated
    sys.path.insert(0, str(checkout))
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
