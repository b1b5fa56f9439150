# SPDX-License-Identifier: Apache-2.0
"""The base of all handles: a `with` block closes them, and they stay in the process that made them.

`multiprocessing` (spawn, forkserver), process pools and Spark pickle what they pass on. A handle is a lock and a
mapping of the process that opened it, so it cannot be sent. A Bus can: it is sent as its name and root, and opens
handles of its own there. A Message is sent as a value.
"""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any, NoReturn, Self

from .native import _native


def refuse(handle: object) -> NoReturn:
    raise TypeError(
        f"a {type(handle).__name__} cannot be pickled: pass the Bus to the other process and open it there"
    )


class Unpicklable:
    """Base of handles written in Python."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        refuse(self)


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


def _message(message: _native.Message) -> tuple[Any, ...]:
    """Reduce a message to a value: a body that is read in place, or lies in the caller's buffer, is copied."""
    reduced: Any = _native.Message.__reduce__(message)
    kind, values = reduced
    body = message.body
    return kind, (bytes(body) if isinstance(body, memoryview) else body, *values[1:])


copyreg.pickle(_native.Message, _message)
copyreg.pickle(_native.Loan, refuse)
copyreg.pickle(_native.View, refuse)
