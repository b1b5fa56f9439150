# SPDX-License-Identifier: Apache-2.0
"""What crosses to another process: a Bus as its name and root, a Message as a value. Handles do not.

`multiprocessing` (spawn, forkserver), process pools and Spark pickle what they pass on. A handle is a lock and a
mapping of the process that opened it, so it cannot be sent; the Bus can, and opens handles of its own there.
"""

from __future__ import annotations

import copyreg
from typing import Any, NoReturn

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


def _message(message: _native.Message) -> tuple[Any, ...]:
    """A value: a body that is read in place, or lies in the caller's buffer, is copied."""
    body = message.body
    plain = bytes(body) if isinstance(body, memoryview) else body
    return _native.Message, (plain, message.sender, message.type, message.seq, message.time_ns, message.topic)


copyreg.pickle(_native.Message, _message)
copyreg.pickle(_native.Loan, refuse)
copyreg.pickle(_native.View, refuse)
