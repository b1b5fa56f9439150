# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: the envelope of calls (docs/spec/calls.md).

Any bytes are Malformed or a message. The fast and the strict reader agree. A message can be written and read again.
"""

from fuzz.mutation import Target
from slipring._bus.calls import codecs, envelope
from slipring._bus.calls import protocol as m

WRITERS = {
    m.Hello: lambda number, body: envelope.hello(body),
    m.Call: envelope.call,
    m.Cancel: lambda number, _: envelope.cancel(number),
    m.Credit: lambda number, body: envelope.credit(number, body.messages),
    m.Result: lambda number, body: envelope.result(number, body.value),
    m.Part: lambda number, body: envelope.part(number, body.value),
    m.Chunk: lambda number, body: envelope.chunk(number, body.total, body.data),
    m.End: lambda number, _: envelope.end(number),
    m.Error: envelope.error,
}
MSGPACK = codecs.Msgpack()


def seeds() -> list[bytes]:
    call = m.Call(7, -1, 1 << 20, 3, "add", b"\x92\x92\x01\x02\x81\xa1b\x02")
    return [
        envelope.hello(m.Hello(1, 2, 3, "msgpack")),
        envelope.call(1, call),
        envelope.call(2, call._replace(trail=(1, 2, 3))),
        envelope.cancel(3),
        envelope.credit(4, 5),
        envelope.result(6, b"\x93\x01\x02\xc0"),
        envelope.part(7, b"part"),
        envelope.chunk(8, 100, b"some"),
        envelope.end(9),
        envelope.error(10, m.Error(m.Reason.RAISED, "ValueError", "no")),
        envelope.error(11, m.Error(m.Reason.RAISED, "ValueError", "no", "Traceback")),
    ]


def use(data: bytes) -> None:
    try:
        number, body = envelope.decode(data)
    except envelope.Malformed:
        return
    assert envelope._decode_any(data) == (number, body), "two readers, two opinions"
    size = sum(len(field) for field in body if isinstance(field, str | bytes | memoryview | tuple))
    assert size <= 4 * len(data), "more came out than was in it"
    if not isinstance(body, m.Error):  # writing an Error truncates its texts
        again = envelope.decode(WRITERS[type(body)](number, body))
        assert again == (0 if isinstance(body, m.Hello) else number, body)
    if isinstance(body, m.Call):
        _decode(MSGPACK.decode_arguments, body.arguments)
    if isinstance(body, m.Result | m.Part):
        _decode(MSGPACK.decode_value, body.value)


def _decode(decode, data) -> None:
    try:
        decode(data)
    except Exception as error:  # noqa: BLE001  the server makes a typed error of any of them, see method_call.py
        assert isinstance(error, ValueError | RecursionError | TypeError | OverflowError), error


TARGET = Target("envelope", (envelope.__name__,), use, seeds)
