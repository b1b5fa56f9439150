# SPDX-License-Identifier: Apache-2.0
"""Codecs of arguments and values: msgpack, plain bytes, or an object of the program.

A codec is any object with these five members. The bytes it decodes may come from any program; each exception of it
becomes a typed error. No codec here can run code that came with a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from slipring.errors import BadArgument

from ..native import _native
from . import arrays


class Codec(Protocol):
    """Turns arguments and values into bytes and back."""

    name: str

    def encode_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes: ...
    def decode_arguments(self, data: memoryview) -> tuple[Sequence[Any], Mapping[str, Any]]: ...
    def encode_value(self, value: Any) -> bytes | memoryview: ...
    def decode_value(self, data: memoryview) -> Any: ...


class Msgpack:
    """The default: numbers, text, bytes, lists, dicts, None, dates, numpy arrays, and the other types of msgspec."""

    name = "msgpack"

    def __init__(self) -> None:
        try:
            import msgspec
        except ImportError as error:
            raise ImportError(
                'codec="msgpack" needs msgspec: pip install "slipring[calls]", or use codec="raw"'
            ) from error
        msgpack = msgspec.msgpack

        def unknown(value: object) -> Any:
            if arrays.is_array(value):
                return msgpack.Ext(arrays.EXTENSION, arrays.encode(value))
            return arrays.number(value)

        def extension(code: int, data: memoryview) -> Any:
            return arrays.decode(data) if code == arrays.EXTENSION else msgpack.Ext(code, bytes(data))

        self._encode = msgpack.Encoder(enc_hook=unknown).encode
        self.encode_value = self._encode
        self.decode_value = msgpack.Decoder(ext_hook=extension).decode
        self.decode_arguments = msgpack.Decoder(tuple[list[Any], dict[str, Any]], ext_hook=extension).decode
        # Each argument as its bytes, to be decoded by its annotation.
        self.split_arguments = msgpack.Decoder(tuple[list[msgspec.Raw], dict[str, msgspec.Raw]]).decode

    def encode_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        return self._encode((args, kwargs))


class Raw:
    """Plain bytes, for a schema of the program: a method takes bytes and returns bytes (any buffer)."""

    name = "raw"

    def encode_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        if len(args) > 1 or kwargs:
            raise TypeError('codec="raw" takes one argument, a bytes-like object')
        return self.encode_value(args[0]) if args else b""

    def decode_arguments(self, data: memoryview) -> tuple[tuple[bytes], dict[str, Any]]:
        return (bytes(data),), {}

    def encode_value(self, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            raise TypeError('codec="raw" carries bytes, not str: encode it')
        try:
            memoryview(value).release()
        except TypeError:
            raise TypeError(f'codec="raw" carries bytes, not {type(value).__name__}') from None
        return _native.body_bytes(value)

    def decode_value(self, data: memoryview) -> bytes:
        return bytes(data)


_BUILT_IN: dict[str, Callable[[], Codec]] = {"msgpack": Msgpack, "raw": Raw}
_MEMBERS = ("encode_arguments", "decode_arguments", "encode_value", "decode_value")


def find(codec: str | Codec) -> Codec:
    """Return a codec by its name, or check an object of the program."""
    if isinstance(codec, str):
        if codec not in _BUILT_IN:
            raise BadArgument(f'codec={codec!r} must be "msgpack", "raw" or a codec object', argument="codec")
        return _BUILT_IN[codec]()
    missing = [name for name in _MEMBERS if not callable(getattr(codec, name, None))]
    name = getattr(codec, "name", None)
    if missing or not isinstance(name, str):
        raise TypeError(f"codec must be a name or have name, {', '.join(_MEMBERS)}")
    size = len(name.encode())
    if not 1 <= size <= 255:
        raise BadArgument(f"the codec's name has {size} bytes, allowed are 1 to 255", argument="codec")
    return codec
