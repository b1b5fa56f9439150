# SPDX-License-Identifier: Apache-2.0
"""The arguments of a bus, checked and converted for the core. An error names its argument and what is allowed."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final, NamedTuple, SupportsIndex, TypeVar, cast

from slipring.errors import BadArgument

from .native import _native

Function = TypeVar("Function", bound=Callable[..., Any])

START_NEW, START_LAST, START_OLDEST, START_SEQ = range(4)
_NAMES = ("new", "last", "oldest")
# The one list of these words: bus, command line, bridge and tests use it. "latest" and "earliest" are the words of
# Spark and Kafka.
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
    """Return a number of bytes: 65536, "64KiB", "16MiB", "1 GB"."""
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
    """Return a count: 0 or more."""
    number = _integer(argument, value)
    if number < 0:
        raise BadArgument(f"{argument}={number} must be at least 0", argument=argument)
    return number


def nanoseconds(argument: str, value: SupportsIndex) -> int:
    """Return a point in time that 64 bits hold."""
    number = _integer(argument, value)
    if not -(2**63) <= number < 2**63:
        raise BadArgument(
            f"{argument}={number} must be a time in nanoseconds that 64 bits hold", argument=argument
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
    """Let a method list its parameters in the error for an unknown keyword."""
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


# Topics


def _choice_of(*choices: str) -> Callable[[str, str], int]:
    return lambda argument, value: choice(argument, value, choices)


# Every setting of a topic, with the function that checks it, in the order of the parameters of `Bus.create`.
_TOPIC_SETTINGS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "capacity": size_bytes,
    "slots": positive,
    "delivery": _choice_of("lossy", "reliable"),
    "writers": _choice_of("many", "one"),
    "mode": lambda argument, value: file_mode(value),
    "max_readers": positive,
    "max_writers": positive,
    "max_cursors": positive,
    "must_exist": lambda argument, value: int(bool(value)),
    "schema": lambda argument, value: bytes(value),  # of a Schema; not a parameter, which is the declaration
}


def given(*values: Any) -> dict[str, Any]:
    """Return the topic settings that are not None by name; values are in the order of `Bus.create`."""
    return {name: value for name, value in zip(_TOPIC_SETTINGS, values, strict=False) if value is not None}


def topic_settings(**settings: Any) -> dict[str, Any]:
    """Return the settings that are not None as the core takes them; the core has defaults for the others."""
    checked: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in _TOPIC_SETTINGS:
            raise TypeError(_unknown("topic_settings()", name, tuple(_TOPIC_SETTINGS)))
        if value is not None:
            checked[name] = _TOPIC_SETTINGS[name](name, value)
    return checked


def check_text(argument: str, name: str) -> None:
    """Refuse a name that no topic, sender or cursor can have."""
    if "\0" in name:
        raise BadArgument(f"{argument} must not contain a NUL character", argument=argument)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise BadArgument(f"{argument} is not valid text: {error.reason}", argument=argument) from None
    _native.check_name(argument, name)


# Subscribers


class SubscriberSettings(NamedTuple):
    """The arguments of `Bus.subscriber` behind the topic, and the writer entry whose messages are passed over.

    schema: the Schema of the subscriber's class, PlainMessage, or None."""

    start: str | SupportsIndex = "new"
    lossy: bool | None = None
    cursor: str | None = None
    conflate: bool = False
    types: Iterable[str] | None = None
    ignore_types: Iterable[str] = ()
    ignore_senders: Iterable[str] = ()
    expires: float | None = None
    own: tuple[int, int] | None = None
    schema: Any = None

    def checked(self) -> SubscriberSettings:
        """Return them with collections as tuples, after a check of all but start."""
        check_cursor(self.cursor, self.expires)
        expiry_ns(self.expires)
        return self._replace(
            lossy=None if self.lossy is None else bool(self.lossy),
            conflate=bool(self.conflate),
            types=None if self.types is None else texts("types", self.types),
            ignore_types=texts("ignore_types", self.ignore_types),
            ignore_senders=texts("ignore_senders", self.ignore_senders),
        )

    def for_core(self) -> tuple[Any, ...]:
        """Return the arguments of the compiled subscriber."""
        _, lossy, cursor, conflate, types, ignore_types, ignore_senders, expires, own, _ = self.checked()
        return (
            *start_place(self.start), -1 if lossy is None else int(lossy), conflate, cursor, expiry_ns(expires),
            types, ignore_types, ignore_senders, own,
        )  # fmt: skip


def check_cursor(cursor: str | None, expires: float | None) -> None:
    if cursor is not None:
        if not isinstance(cursor, str):
            raise TypeError(f"cursor must be str, not {type(cursor).__name__}")
        check_text("cursor", cursor)
    elif expires is not None:
        raise BadArgument("expires belongs to a cursor: give cursor= too", argument="expires")


def start_place(start: str | SupportsIndex) -> tuple[int, int]:
    """Convert a word or a sequence to the core's (start, sequence)."""
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
    """Convert a start where a sequence has no meaning."""
    if not isinstance(start, str) or start not in _STARTS:
        raise BadArgument(f"start={start!r} must be {_PLACES}", argument="start")
    return _STARTS[start]


def start_name(start: str | SupportsIndex) -> str | int:
    """Return the word that every version understands, or the sequence: for another process."""
    place, seq = start_place(start)
    return seq if place == START_SEQ else _NAMES[place]


def timeout_s(timeout: float | None, argument: str = "timeout") -> float | None:
    """Check a time-out. None, and anything beyond years, waits without limit."""
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
    """Return whether it has a character of patterns, which no topic's name has."""
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
