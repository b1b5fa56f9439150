# SPDX-License-Identifier: Apache-2.0
"""Runs a module of the suite where Slipring is not installed: ``python -P hollow.py MODULE ARGUMENT…``.

Rivals have an environment of their own, so that they never meet our dependencies, nor our build. The suite is part of
the package all the same: in such an interpreter ``slipring`` is an empty package that holds the suite and nothing else.
"""

import runpy
import sys
import types
from pathlib import Path

if __name__ == "__main__":
    hollow = types.ModuleType("slipring")
    hollow.__path__ = [str(Path(__file__).parents[1])]
    sys.modules["slipring"] = hollow
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
