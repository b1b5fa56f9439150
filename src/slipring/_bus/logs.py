# SPDX-License-Identifier: Apache-2.0
"""Loggers of the package: `slipring.calls` and so on. Silent unless the program configures logging.

Made when there is something to log: `logging` is slow to import, and most processes never log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


def logger(part: str) -> logging.Logger:
    """The logger `slipring.<part>`."""
    import logging

    above = logging.getLogger("slipring")
    if not above.handlers:
        above.addHandler(logging.NullHandler())  # else Python prints warnings of unconfigured programs
    return above.getChild(part)
