# SPDX-License-Identifier: Apache-2.0
"""What all handles have in common: their block ends with close(), and they stay in the process that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .pickling import Unpicklable


class Closing(Unpicklable):
    """``with handle: …`` and ``async with handle: …`` close it."""

    __slots__ = ()

    if TYPE_CHECKING:

        def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()
