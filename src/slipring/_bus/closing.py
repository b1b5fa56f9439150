# SPDX-License-Identifier: Apache-2.0
"""What all handles have in common: their block ends with close()."""

from __future__ import annotations

from typing import Self


class Closing:
    """``with handle: …`` closes it."""

    __slots__ = ()

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
