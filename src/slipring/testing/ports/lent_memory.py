# SPDX-License-Identifier: Apache-2.0
"""Memory that a handle lends: its owner learns when the last view or array of it is gone."""

from __future__ import annotations

import sys
from collections.abc import Callable


class _Lent:
    """Memory lent out. `ended` is called when the last view or array of it, and the lender, are gone."""

    ended: Callable[[], None] | None = None

    def __del__(self) -> None:
        if self.ended is not None:
            self.ended()


class ReadOnly(_Lent, bytes):
    """Memory to read."""


class Region(_Lent, bytearray):
    """Memory to fill."""

    def in_use(self, references: int) -> bool:
        """Whether a memoryview or an array made from it lives, beside the references that the caller knows of:
        numpy's arrays may refer to memory without a lock on its size.
        """
        return sys.getrefcount(self) > references + 2  # ours, and the question's


def lend(content: bytes | int, ended: Callable[[], None]) -> Region:
    region = Region(content)
    region.ended = ended
    return region


def show(content: bytes | bytearray, ended: Callable[[], None]) -> ReadOnly:
    shown = ReadOnly(content)
    shown.ended = ended
    return shown
