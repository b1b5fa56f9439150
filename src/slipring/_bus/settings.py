# SPDX-License-Identifier: Apache-2.0
"""Arguments as people write them, turned into what the core takes; bad ones named."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, SupportsIndex, TypeVar, cast

from slipring.errors import BadArgument

Function = TypeVar("Function", bound=Callable[..., Any])

START_NEW, START_LAST, START_OLDEST, START_SEQ = range(4)
_NAMES = ("new", "last", "oldest")
# The only place that knows the words: bus, command line, bridge and tests ask here. Spark and Kafka say "latest" and
# "earliest".
_STARTS = {
    "new": START_NEW,
    "latest": START_NEW,
    "last": START_LAST,
    "oldest": START_OLDEST,
    "earliest": START_OLDEST,
}
START_WORDS = tuple(_STARTS)
_PLACES = '"new" (or "latest"), "last", "oldest" (or "earliest")'
_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def size_bytes(argument: str, value: int | str) -> int:
    """A number of bytes: 65536, "64KiB", "16MiB", "1 GB"."""
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = _UNITS.get(match[2].upper()) if match else None
        if match is None or unit is None:
            hint = 'write 65536 or "16MiB"'
            raise BadArgument(f"{argument}={value!r} is not a size: {hint}", argument=argument)
        value = math.ceil(float(match[1]) * unit)
    return positive(argument, value)


def _integer(argument: str, value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{argument} must be an integer, not {type(value).__name__}") from None


def positive(argument: str, value: SupportsIndex) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{argument} must be an integer, not bool")
    number = _integer(argument, value)
    if not 0 < number < 2**63:
        raise BadArgument(f"{argument}={number} must be at least 1 and below 2**63", argument=argument)
    return number


def natural(argument: str, value: SupportsIndex) -> int:
    """How many: none, or more."""
    number = _integer(argument, value)
    if number < 0:
        raise BadArgument(f"{argument}={number} must be at least 0", argument=argument)
    return number


def nanoseconds(argument: str, value: SupportsIndex) -> int:
    """A point in time that 64 bits hold."""
    number = _integer(argument, value)
    if not -(2**63) <= number < 2**63:
        raise BadArgument(
            f"{argument}={number} is no time in nanoseconds that 64 bits hold", argument=argument
        )
    return number


def choice(argument: str, value: str, choices: tuple[str, ...]) -> int:
    if value not in choices:
        words = " or ".join(f'"{word}"' for word in choices)
        raise BadArgument(f"{argument}={value!r} must be {words}", argument=argument)
    return choices.index(value)


def file_mode(value: SupportsIndex) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"mode must be an integer such as 0o600, not {type(value).__name__}") from None
    if not 0 < number <= 0o777:
        digits = str(number)
        meant = f": did you mean 0o{digits}?" if re.fullmatch("[0-7]{1,3}", digits) and number else ""
        text = f"mode={number} (that is {number:#o}) must be between 0o001 and 0o777{meant}"
        raise BadArgument(text, argument="mode")
    return number


def names_its_parameters(method: Function) -> Function:
    """A method that lists its parameters when it is called with a keyword that it does not have."""
    code = cast(FunctionType, method).__code__
    allowed = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(method)
    def checked(self: object, /, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in allowed:
                raise TypeError(_unknown(f"{type(self).__name__}.{method.__name__}()", name, allowed))
        return method(self, *args, **kwargs)

    return cast(Function, checked)


def _unknown(function: str, name: str, allowed: tuple[str, ...]) -> str:
    import difflib  # slow to import, and only mistakes need it

    close = difflib.get_close_matches(name, allowed, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{function} has no parameter {name!r}{meant}: allowed are {', '.join(allowed)}"


def topic_settings(
    *,
    capacity: int | str | None = None,
    slots: int | None = None,
    delivery: str | None = None,
    writers: str | None = None,
    mode: int | None = None,
    max_readers: int | None = None,
    max_writers: int | None = None,
    max_cursors: int | None = None,
    must_exist: bool | None = None,
) -> dict[str, int]:
    """Only what was given: the rest is the core's default, or whatever an existing topic has."""
    given: dict[str, int] = {}
    if capacity is not None:
        given["capacity"] = size_bytes("capacity", capacity)
    for name, number in (
        ("slots", slots),
        ("max_readers", max_readers),
        ("max_writers", max_writers),
        ("max_cursors", max_cursors),
    ):
        if number is not None:
            given[name] = positive(name, number)
    if delivery is not None:
        given["delivery"] = choice("delivery", delivery, ("lossy", "reliable"))
    if writers is not None:
        given["writers"] = choice("writers", writers, ("many", "one"))
    if mode is not None:
        given["mode"] = file_mode(mode)
    if must_exist:
        given["must_exist"] = 1
    return given


def start_place(start: str | SupportsIndex) -> tuple[int, int]:
    """A word or a sequence as the core's (start, sequence)."""
    if isinstance(start, str):
        if start not in _STARTS:
            raise BadArgument(f"start={start!r} must be {_PLACES} or a sequence", argument="start")
        return _STARTS[start], 0
    try:
        number = operator.index(start)
    except TypeError:
        raise TypeError(f"start must be str or a sequence (int), not {type(start).__name__}") from None
    if not 0 <= number < 2**63:
        raise BadArgument(f"start={number} must be a sequence: at least 0", argument="start")
    return START_SEQ, number


def start_word(start: str) -> int:
    """A start where a sequence has no meaning."""
    if not isinstance(start, str) or start not in _STARTS:
        raise BadArgument(f"start={start!r} must be {_PLACES}", argument="start")
    return _STARTS[start]


def start_name(start: str | SupportsIndex) -> str | int:
    """The word that every version understands, or the sequence: for what another process reads."""
    place, seq = start_place(start)
    return seq if place == START_SEQ else _NAMES[place]


def timeout_s(timeout: float | None, argument: str = "timeout") -> float | None:
    """Checked; None and anything beyond years mean for ever."""
    if timeout is None:
        return None
    if isinstance(timeout, (str, bytes)) or (
        not hasattr(timeout, "__float__") and not hasattr(timeout, "__index__")
    ):
        raise TypeError(f"{argument} must be None or a number of seconds, not {type(timeout).__name__}")
    try:
        seconds = float(timeout)
    except OverflowError:  # an integer of hundreds of digits
        seconds = math.inf if timeout > 0 else -math.inf
    if not seconds >= 0:
        raise BadArgument(f"{argument}={seconds} must be None or at least 0 seconds", argument=argument)
    return None if seconds > 9e8 else seconds


def is_pattern(topic: object) -> bool:
    """Whether it has a character of patterns, which no topic's name has."""
    return isinstance(topic, str) and any(character in topic for character in "*?[")


# A bracket may hold anything; a name neither begins with '.' or '-', nor has a '[' of its own.
_MATCHING = re.compile(r"(?![.-])(?:[\w.*?-]|\[!?\]?[^\]]*\])+", re.ASCII)


def check_pattern(topic: str) -> None:
    """Refuse a pattern that no topic's name can match."""
    if not _MATCHING.fullmatch(topic):
        names = "names have letters, digits, '_', '-' and '.', and start with neither '-' nor '.'"
        raise BadArgument(f"topic={topic!r} can match no topic: {names}", argument="topic")


def texts(argument: str, values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{argument} must be a collection of str, not {type(values).__name__}")
    result = tuple(values)
    for value in result:
        if not isinstance(value, str):
            raise TypeError(f"{argument} must hold str, not {type(value).__name__}")
    if len(result) > 64:
        raise BadArgument(f"{argument} has {len(result)} entries, at most 64", argument=argument)
    return result


def expiry_ns(expires: float | None) -> int:
    if expires is None:
        return 0
    if isinstance(expires, bool) or not isinstance(expires, (int, float)):
        raise TypeError(f"expires must be None or a number of seconds, not {type(expires).__name__}")
    if not 0 < expires < 9e9:
        raise BadArgument(f"expires={expires} must be a positive number of seconds", argument="expires")
    return max(1, int(expires * 1e9))
