# SPDX-License-Identifier: Apache-2.0
"""Loggers of the package, `slipring.<area>`. Silent unless the program configures logging.

docs/guides/logging.md lists the areas. An event is logged if no call of the program reports it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging


def logger(area: str) -> logging.Logger:
    """Return the logger `slipring.<area>`."""
    import logging

    above = logging.getLogger("slipring")
    if not above.handlers:
        above.addHandler(logging.NullHandler())  # else Python prints warnings of unconfigured programs
    return above.getChild(area)


def log(area: str, level: str, text: str, *args: object, **options: Any) -> None:
    """Log an event at "debug", "info", "warning" or "error".

    `logging` is slow to import. A program that has not imported it does not listen, and pays nothing."""
    if "logging" in sys.modules:
        getattr(logger(area), level)(text, *args, stacklevel=2, **options)
