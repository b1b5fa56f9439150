# SPDX-License-Identifier: Apache-2.0
"""The messages of the question `typed`, and what a transport has to provide to carry them.

An object has 64 B as msgpack, a record 64 B: 8 doubles. Rivals import this file where Slipring is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from slipring.bench.transport import Transport

SIZE = 64
BODY = bytes(range(SIZE))
ROWS = 1000  # in an array that is sent with one call

SendSome = Callable[[int], None]
TakeSome = Callable[[int], Any]


@dataclass
class Imu:
    t: float
    seq: int
    acc: tuple[float, float, float]
    ok: bool
    id: str


FIELDS = (1732060800.25, 123456, (0.1, 0.2, 9.8), True, "arm")
DOUBLES = tuple(f"x{i}" for i in range(8))
RECORD = (0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5)


@cache
def struct_class() -> type:
    """The same fields as a msgspec.Struct."""
    import msgspec

    return msgspec.defstruct("Imu", list(get_type_hints(Imu).items()))


def declared(message: str) -> type:
    """The class of messages that are objects: "dataclass" or "struct"."""
    return Imu if message == "dataclass" else struct_class()


def example(message: str) -> Any:
    return declared(message)(*FIELDS)


def encoder() -> Callable[[Any], bytes]:
    """The function of msgspec that encodes objects."""
    import msgspec

    encode: Callable[[Any], bytes] = msgspec.msgpack.Encoder().encode
    return encode


def decoder(message: str) -> Callable[[bytes], Any]:
    """The function of msgspec that decodes objects."""
    import msgspec

    decode: Callable[[bytes], Any] = msgspec.msgpack.Decoder(declared(message)).decode
    return decode


@cache
def dtype() -> Any:
    import numpy

    return numpy.dtype([(name, "<f8") for name in DOUBLES])


def array(rows: int = ROWS) -> Any:
    import numpy

    return numpy.array([RECORD] * rows, dtype())


class ValueTransport(Transport):
    """Carries values of one kind of message ("bytes", "dataclass", "struct" or "doubles") on one channel.

    The receiving end is opened first. Both ends return a function of a count, whose loop is the measured work: the same
    value is sent again and again. The receiver reads a field of each value, and returns the last value.
    """

    at_once = 100  # values that are sent, and then received, in one process

    def value_receiver(self, message: str) -> TakeSome:
        raise NotImplementedError

    def value_sender(self, message: str) -> SendSome:
        raise NotImplementedError
