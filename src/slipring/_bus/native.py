# SPDX-License-Identifier: Apache-2.0
"""The compiled part, with an import error that explains itself."""

from __future__ import annotations

from slipring import errors

try:
    from slipring import _native
except ImportError as error:
    if "sub-interpreter" in str(error):
        raise
    raise ImportError(
        "Slipring's compiled part is missing or was built for another Python: "
        "reinstall with `pip install --force-reinstall slipring`, or run `make setup` in a checkout"
    ) from error

_native.set_error_factory(errors.from_core)

__all__ = ["_native"]
