# SPDX-License-Identifier: Apache-2.0
"""Third-party packages of typed topics, imported at the first use. Each text of an error names the extra."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from slipring.errors import MissingExtra


@cache
def _imported(module: str, package: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f'{what} the package {package}: pip install "slipring[typed]"') from error


def msgspec() -> Any:
    return _imported("msgspec", "msgspec", "a topic of encoding msgpack or json needs")


def numpy() -> Any:
    return _imported("numpy", "numpy", "a topic of encoding numpy needs")


def pyarrow() -> Any:
    _imported("pyarrow.ipc", "pyarrow", "Arrow columns need")
    return _imported("pyarrow", "pyarrow", "Arrow columns need")


def protobuf(module: str) -> Any:
    """Return a module of google.protobuf."""
    return _imported(f"google.protobuf.{module}", "protobuf", "a topic of encoding protobuf needs")
