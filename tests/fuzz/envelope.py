# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: the envelope of calls (docs/spec/calls.md). Any bytes are Malformed or a message; the quick reader says
what the strict one says; what was read can be written and is read the same."""

from fuzz.mutation import Target
from slipring._bus.calls import codecs, decoding, encoding, tables
from slipring._bus.calls import messages as m

WRITERS = {
    m.Hello: lambda number, body: encoding.hello(body),
    m.Call: encoding.call,
    m.Cancel: lambda number, _: encoding.cancel(number),
    m.Credit: lambda number, body: encoding.credit(number, body.messages),
    m.Result: lambda number, body: encoding.result(number, body.value),
    m.Part: lambda number, body: encoding.part(number, body.value),
    m.Chunk: lambda number, body: encoding.chunk(number, body.total, body.data),
    m.End: lambda number, _: encoding.end(number),
    m.Error: encoding.error,
}
MSGPACK = codecs.Msgpack()


def seeds() -> list[bytes]:
    call = m.Call(7, -1, 1 << 20, 3, "add", b"\x92\x92\x01\x02\x81\xa1b\x02")
    return [
        encoding.hello(m.Hello(1, 2, 3, "msgpack")),
        encoding.call(1, call),
        encoding.call(2, call._replace(trail=(1, 2, 3))),
        encoding.cancel(3),
        encoding.credit(4, 5),
        encoding.result(6, b"\x93\x01\x02\xc0"),
        encoding.part(7, b"part"),
        encoding.chunk(8, 100, b"some"),
        encoding.end(9),
        encoding.error(10, m.Error(m.Reason.RAISED, "ValueError", "no")),
        encoding.error(11, m.Error(m.Reason.RAISED, "ValueError", "no", "Traceback")),
    ]


def use(data: bytes) -> None:
    try:
        number, body = decoding.decode(data)
    except decoding.Malformed:
        return
    assert decoding._decode_any(data) == (number, body), "two readers, two opinions"
    size = sum(len(field) for field in body if isinstance(field, str | bytes | memoryview | tuple))
    assert size <= 4 * len(data), "more came out than was in it"
    if not isinstance(body, m.Error):  # whose texts are cut when written
        again = decoding.decode(WRITERS[type(body)](number, body))
        assert again == (0 if isinstance(body, m.Hello) else number, body)
    if isinstance(body, m.Call):
        _decode(MSGPACK.decode_arguments, body.arguments)
    if isinstance(body, m.Result | m.Part):
        _decode(MSGPACK.decode_value, body.value)


def _decode(decode, data) -> None:
    try:
        decode(data)
    except Exception as error:  # noqa: BLE001  the server makes a typed error of any of them, see work.py
        assert isinstance(error, ValueError | RecursionError | TypeError | OverflowError), error


TARGET = Target("envelope", (decoding.__name__, tables.__name__), use, seeds)
