# SPDX-License-Identifier: Apache-2.0
"""The arguments and the value of a method, checked and converted as its annotations say.

Contract: all is prepared when the method is registered. An annotation that a schema can express becomes a decoder of
one argument, or an encoder of the value (docs/spec/schema.md 5.1, msgpack). All others pass as without annotations. An
annotation that cannot be resolved, or a class whose objects could not be made, is BadArgument at registration.
"""

from __future__ import annotations

import collections.abc
import decimal
import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any, NoReturn

from slipring.errors import BadArgument, SlipringError

from ...logs import log
from ...schema.annotations import Pair, annotation, is_structure
from ...schema.encodings import msgspec_bodies
from ..codecs import Msgpack
from .method_call import Coders, Encode, WrongArgument

_ITERATORS = (
    collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator,
    collections.abc.AsyncIterator, collections.abc.AsyncIterable, collections.abc.AsyncGenerator,
)  # fmt: skip
_AS_IT_COMES: Any = inspect.Parameter.empty
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def prepare(function: Callable[..., Any], name: str, codec: Msgpack) -> Coders:
    """Return what reads the arguments and writes the value of a method, by the annotations of a function, bound
    method, functools.partial or object with __call__."""
    try:
        signature = inspect.signature(function)
    except Exception as error:  # annotations are code of the program
        raise BadArgument(
            f"method '{name}': its annotations cannot be read: {error}", argument="function"
        ) from error
    hints = _Hints(function, name)
    decoders = {}
    for each in signature.parameters.values():
        found = hints.pair(f"parameter '{each.name}'", each.annotation, must_build=True)
        if found is not None:
            decoders[each.name] = msgspec_bodies.value_decoder(*found, codec.decode_value)
    decode = _Arguments(name, signature, decoders, codec).decode if decoders else codec.decode_arguments
    encode, encode_part = _encoders(hints, name, signature.return_annotation)
    return Coders(decode, encode or codec.encode_value, encode_part or codec.encode_value)


# Annotations


class _Hints:
    """The annotations of a function, resolved one by one, so that errors name the parameter."""

    def __init__(self, function: Any, method: str) -> None:
        self._method = method
        behind = _behind(function)
        module = sys.modules.get(getattr(behind, "__module__", None) or "")
        self._globals = getattr(behind, "__globals__", None) or getattr(module, "__dict__", {})
        self._locals = {each.__name__: each for each in getattr(behind, "__type_params__", ())}

    def resolve(self, what: str, given: Any) -> Any:
        def holder() -> None: ...

        holder.__annotations__ = {"it": given}
        try:
            return typing.get_type_hints(holder, self._globals, self._locals, include_extras=True)["it"]
        except Exception as error:  # annotations are code of the program  # noqa: BLE001
            self._refuse(
                what,
                f"annotation {given!r} cannot be resolved: {type(error).__name__}: {error}: import or "
                "define its names in the module of the function, outside of functions",
            )

    def pair(self, what: str, given: Any, *, must_build: bool = False) -> Pair | None:
        """Return the type and what it becomes; None where nothing is to be checked."""
        if given is _AS_IT_COMES:
            return None
        hint = self.resolve(what, given)
        try:
            return annotation(hint)
        except (BadArgument, TypeError) as error:  # the latter for what cannot be hashed
            if must_build and not _may_pass(hint):
                remedy = "correct it, or annotate with Any to get what msgpack carries"
                self._refuse(what, f"{error}: {remedy}")
            log("calls", "debug", "method '%s', %s is not checked: %s", self._method, what, error)
            return None

    def _refuse(self, what: str, why: str) -> NoReturn:
        raise BadArgument(f"method '{self._method}', {what}: {why}", argument="function")


def _behind(function: Any) -> Any:
    """Return the function that was written, of whatever is called."""
    while True:
        function = inspect.unwrap(function)
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif not inspect.isroutine(function) and not inspect.isclass(function):
            return inspect.unwrap(type(function).__call__)
        else:
            return function


def _may_pass(hint: Any) -> bool:
    """Return whether a method can take what msgpack carries for an annotation that no schema expresses. It cannot where
    the annotation asks for objects of a class, or for a type such as "int33"."""
    while hasattr(hint, "__supertype__"):  # typing.NewType
        hint = hint.__supertype__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return not _is_expressible(arguments[0]) and _may_pass(arguments[0])
    if origin in (typing.Union, types.UnionType):
        chosen = [each for each in arguments if each is not types.NoneType]
        return len(chosen) != 1 or _may_pass(chosen[0])
    if origin in (list, tuple, dict):
        return all(map(_may_pass, arguments))
    if typing.is_typeddict(hint):
        try:
            return bool(typing.get_type_hints(hint))
        except Exception:  # annotations are code of the program  # noqa: BLE001
            return False
    made = isinstance(hint, type) and issubclass(hint, (enum.Enum, decimal.Decimal))
    return not made and not is_structure(hint)


def _is_expressible(hint: Any) -> bool:
    try:
        annotation(hint)
    except (BadArgument, TypeError):
        return False
    return True


# Arguments


class _Arguments:
    """Decodes the arguments of one method, each by its parameter."""

    def __init__(
        self,
        method: str,
        signature: inspect.Signature,
        decoders: dict[str, Callable[[Any], Any]],
        codec: Msgpack,
    ) -> None:
        self._method, self._split = method, codec.split_arguments
        parameters = list(signature.parameters.values())

        def of(name: str) -> Callable[[Any], Any]:
            return decoders.get(name, codec.decode_value)

        rest = [each.name for each in parameters if each.kind is each.VAR_POSITIONAL]
        others = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
        self._names = [each.name for each in parameters if each.kind in _BY_POSITION]
        self._rest_name = f"*{rest[0]}" if rest else "*"
        self._positional = [of(name) for name in self._names]
        self._rest = of(rest[0] if rest else "")
        self._named = {each.name: of(each.name) for each in parameters if each.kind in _BY_NAME}
        self._other = of(others[0] if others else "")

    def decode(self, data: memoryview) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments; too many, too few and unknown ones are left to the function."""
        args, kwargs = self._split(data)
        found: list[Any] = []
        named: dict[str, Any] = {}
        name = ""
        try:
            for decode, argument in zip(chain(self._positional, repeat(self._rest)), args, strict=False):
                found.append(decode(argument))
            for name, argument in kwargs.items():
                decode = self._named.get(name, self._other)
                named[name] = decode(argument)
        except Exception as error:
            raise WrongArgument(self._text(len(found), name, error)) from error
        return found, named

    def _text(self, at: int, name: str, error: Exception) -> str:
        if not name:
            beyond = at - len(self._names)
            name = self._names[at] if beyond < 0 else f"{self._rest_name}[{beyond}]"
        why = str(error) if isinstance(error, SlipringError) else f"it cannot be decoded: {error}"
        return f"method '{self._method}', parameter '{name}': {why}"


# The value


def _encoders(hints: _Hints, method: str, given: Any) -> tuple[Encode | None, Encode | None]:
    """Return the encoder of the value, and that of a part."""
    if given is _AS_IT_COMES:
        return None, None
    hint = hints.resolve("its value", given)
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in _ITERATORS and arguments:
        return None, _encoder(hints, method, "a part", arguments[0])
    return _encoder(hints, method, "its value", hint), None


def _encoder(hints: _Hints, method: str, what: str, hint: Any) -> Encode | None:
    if hint is types.NoneType:
        return functools.partial(_encode_none, method, what)
    found = hints.pair(what, hint)
    if found is None:
        return None
    encode = msgspec_bodies.value_encoder(*found)

    def checked(value: Any) -> bytes:
        try:
            return encode(value)
        except BadArgument as error:
            raise TypeError(f"method '{method}' does not return what it declares: {what}: {error}") from None

    return checked


def _encode_none(method: str, what: str, value: Any) -> bytes:
    if value is not None:
        shown = f"{value!r:.60} ({type(value).__name__})"
        raise TypeError(f"method '{method}' does not return what it declares: {what}: {shown} must be None")
    return b"\xc0"
