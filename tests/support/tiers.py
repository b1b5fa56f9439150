# SPDX-License-Identifier: Apache-2.0
"""How much of a costly list a run goes through: all of it in `make prove`, a part of it in `make test`."""

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
EVERY_KILL = os.environ.get("SLIPRING_EVERY_KILL") == "1"  # set by tests/prove/parts.toml


def kills(everything: Sequence[Item], few: Sequence[Item]) -> Sequence[Item]:
    """The kills of a test whose every kill costs the start of a JVM; few must be among everything."""
    assert set(few) <= set(everything)
    return everything if EVERY_KILL else few
