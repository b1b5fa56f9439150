# SPDX-License-Identifier: Apache-2.0
"""Arguments that the compiled binding checks, checked the same way."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex

from slipring._bus.native import _native
from slipring.errors import BadArgument

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MAX_TEXT = 255


def body_bytes(body: Buffer) -> bytes:
    """A copy of any object with a buffer of plain data, its elements in C order."""
    if type(body) is bytes:
        return body
    return _native.body_bytes(body)


def body_list(bodies: Iterable[Buffer]) -> tuple[Buffer, ...]:
    one = isinstance(bodies, str)
    if not one:
        try:
            memoryview(bodies).release()  # type: ignore[arg-type]  # that is the question
            one = True
        except TypeError:
            pass
    if one:
        raise TypeError("bodies must be a sequence of bodies, not one: use send()")
    return tuple(bodies)


def text_bytes(argument: str, text: str) -> int:
    """The size of a text, which has to be one."""
    if not isinstance(text, str):
        raise TypeError(f"{argument} must be str, not {type(text).__name__}")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        hint = "it has lone surrogates"
        raise BadArgument(f"{argument} cannot be encoded as UTF-8: {hint}", argument=argument) from None


def check_length(argument: str, text: str) -> None:
    size = text_bytes(argument, text)
    if size > _MAX_TEXT:
        raise BadArgument(f"{argument} has {size} bytes, at most {_MAX_TEXT}", argument=argument)


def size_number(size: SupportsIndex) -> int:
    try:
        number = operator.index(size)
    except TypeError:
        raise TypeError("size must be an integer number of bytes") from None
    if not 0 <= number < 1 << 64:
        raise BadArgument("size must be at least 0 and fit the address space", argument="size")
    return number


def count_number(n: SupportsIndex) -> int:
    number = operator.index(n)
    if number < 0:
        raise BadArgument("n must be at least 0", argument="n")
    return number
