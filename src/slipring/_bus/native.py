# SPDX-License-Identifier: Apache-2.0
"""The compiled part, with an import error that explains itself."""

from __future__ import annotations

from slipring import errors

from . import directory

try:
    import slipring._native as _native
except ImportError as error:
    if "sub-interpreter" in str(error):
        raise
    raise ImportError(
        "Slipring's compiled part is missing or was built for another Python: "
        "reinstall with `pip install --force-reinstall slipring`, or run `make setup` in a checkout"
    ) from error


def _error(
    code: int, message: str, argument: str, errno: int, found: str, asked: str, bus: str
) -> errors.SlipringError:
    """Make the exception for an error of the core; add the bus's path, since the core has file names only."""
    error = errors.from_core(code, message, argument, errno, found, asked)
    return directory.explain(error, bus) if bus else error


_native.set_error_factory(_error)

__all__ = ["_native"]
