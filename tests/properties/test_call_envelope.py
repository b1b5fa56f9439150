# SPDX-License-Identifier: Apache-2.0
"""The envelope: what we write others read, what others write we read, no bytes are dangerous (inv. 7)."""

import random

import flatbuffers
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slipring._bus.calls import envelope
from slipring._bus.calls import protocol as m
from slipring._bus.calls.envelope import Malformed, decode
from support import call_schema

GENERATED = call_schema.generate()
gen_message, gen_payload = GENERATED["Message"], GENERATED["Payload"].Payload
u32, u64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
data = st.binary(max_size=200)
text = st.text(max_size=40)
calls = st.builds(
    m.Call, u64, st.integers(-(2**63), 2**63 - 1), u64, u32, st.text(max_size=60), data,
    st.lists(u64, max_size=16).map(tuple),
)  # fmt: skip
payloads = st.one_of(
    st.builds(m.Hello, u32, u64, u64, text),
    calls,
    st.just(m.Cancel()),
    st.builds(m.Credit, u32),
    st.builds(m.Result, data),
    st.builds(m.Part, data),
    st.builds(m.Chunk, u64, data),
    st.just(m.End()),
    st.builds(m.Error, st.integers(0, 255), text, text, text),
)


def encode(req_id: int, payload: m.Payload) -> bytes:
    match payload:
        case m.Hello():
            return envelope.hello(payload)
        case m.Call():
            return envelope.call(req_id, payload)
        case m.Cancel():
            return envelope.cancel(req_id)
        case m.Credit(messages):
            return envelope.credit(req_id, messages)
        case m.Result(value):
            return envelope.result(req_id, value)
        case m.Part(value):
            return envelope.part(req_id, value)
        case m.Chunk(total, piece):
            return envelope.chunk(req_id, total, piece)
        case m.End():
            return envelope.end(req_id)
        case m.Error():
            return envelope.error(req_id, payload)


def read_by_generated_code(body: bytes) -> tuple[int, m.Payload]:
    message = gen_message.Message.GetRootAs(body, 0)
    assert gen_message.Message.MessageBufferHasIdentifier(body, 0)
    kind, table = message.PayloadType(), message.Payload()

    def at(name):
        reader = getattr(GENERATED[name], name)()
        reader.Init(table.Bytes, table.Pos)
        return reader

    def octets(reader, name):
        return bytes(getattr(reader, name)(i) for i in range(getattr(reader, f"{name}Length")()))

    numbers = gen_payload
    if kind == numbers.Hello:
        t = at("Hello")
        payload = m.Hello(t.Version(), t.Instance(), t.Incarnation(), t.Codec().decode())
    elif kind == numbers.Call:
        t = at("Call")
        trail = tuple(t.Trail(i) for i in range(t.TrailLength()))
        method, arguments = t.Method().decode(), octets(t, "Arguments")
        payload = m.Call(t.Server(), t.DeadlineNs(), t.MaxAnswer(), t.Window(), method, arguments, trail)
    elif kind == numbers.Credit:
        payload = m.Credit(at("Credit").Messages())
    elif kind == numbers.Result:
        payload = m.Result(octets(at("Result"), "Value"))
    elif kind == numbers.Part:
        payload = m.Part(octets(at("Part"), "Value"))
    elif kind == numbers.Chunk:
        t = at("Chunk")
        payload = m.Chunk(t.Total(), octets(t, "Data"))
    elif kind == numbers.Error:
        t = at("Error")
        trace = t.Traceback() or b""
        payload = m.Error(t.Reason(), t.Type().decode(), t.Message().decode(), trace.decode())
    else:
        payload = {numbers.Cancel: m.Cancel(), numbers.End: m.End()}[kind]
    return message.ReqId(), payload


def write_by_generated_code(req_id: int, payload: m.Payload) -> bytes:
    b = flatbuffers.Builder(64)
    name = type(payload).__name__
    module = GENERATED[name]
    if not payload:  # Cancel, End: no fields
        b.StartObject(0)
        body = b.EndObject()
    else:
        made = {
            field: b.CreateString(value) if isinstance(value, str) else b.CreateByteVector(bytes(value))
            for field, value in payload._asdict().items()
            if isinstance(value, (str, bytes))
        }
        trail = getattr(payload, "trail", ())
        if trail:
            GENERATED["Call"].CallStartTrailVector(b, len(trail))
            for entry in reversed(trail):
                b.PrependUint64(entry)
            made["trail"] = b.EndVector()
        getattr(module, f"{name}Start")(b)
        for field, value in payload._asdict().items():
            if field == "trail" and not trail:
                continue
            words = "".join(word.title() for word in field.split("_"))
            getattr(module, f"{name}Add{words}")(b, made.get(field, value))
        body = getattr(module, f"{name}End")(b)
    gen_message.MessageStart(b)
    gen_message.MessageAddReqId(b, req_id)
    gen_message.MessageAddPayloadType(b, getattr(gen_payload, name))
    gen_message.MessageAddPayload(b, body)
    b.Finish(gen_message.MessageEnd(b), file_identifier=b"SLRC")
    return bytes(b.Output())


@given(u64, payloads)
@settings(deadline=None)
def test_what_we_write_is_read_by_us_and_by_generated_code(req_id, payload):
    body = encode(req_id, payload)
    expected = (0 if isinstance(payload, m.Hello) else req_id, payload)
    assert decode(body) == expected
    assert envelope._decode_any(body) == expected
    assert read_by_generated_code(body) == expected


@given(u64, payloads)
@settings(deadline=None)
def test_what_generated_code_writes_is_read_by_us(req_id, payload):
    assert decode(write_by_generated_code(req_id, payload)) == (req_id, payload)


def read_or_refuse(body: bytes) -> None:
    try:
        _, payload = decode(body)
    except Malformed:
        return
    for field in payload:  # what was accepted is inside the message
        size = len(field) if isinstance(field, (str, bytes, memoryview, tuple)) else 0
        assert size <= len(body)


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=500)
@example(b"")
@example(b"\x04\0\0\0SLRC" + b"\0" * 8)
@example(b"\xff\xff\xff\xffSLRC" + b"\xff" * 60)
def test_random_bytes_are_refused_or_read_and_nothing_else_happens(body):
    read_or_refuse(body)
    read_or_refuse(b"\x18\0\0\0SLRC" + body)


@given(u64, payloads, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_mutated_messages_are_refused_or_read_and_nothing_else_happens(req_id, payload, luck):
    for body in (encode(req_id, payload), write_by_generated_code(req_id, payload)):
        for _ in range(20):
            changed = bytearray(body)
            for _ in range(luck.randint(1, 4)):
                place = luck.randrange(len(changed))
                changed[place] = luck.choice([0, 1, 4, 0x7F, 0x80, 0xFF, luck.randrange(256)])
            read_or_refuse(bytes(changed))


@given(u64, payloads)
@settings(deadline=None)
def test_a_truncated_message_is_refused_or_read_and_nothing_else_happens(req_id, payload):
    for body in (encode(req_id, payload), write_by_generated_code(req_id, payload)):
        for size in range(len(body)):
            read_or_refuse(body[:size])


def test_every_word_set_to_every_extreme_is_refused_or_read():
    call = m.Call(1, 2, 3, 4, "method", b"arguments", (5, 6))
    for body in (encode(1, call), write_by_generated_code(1, call), encode(1, call._replace(trail=()))):
        for place in range(0, len(body) - 4):
            for word in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(body), len(body) - 4):
                changed = body[:place] + word.to_bytes(4, "little") + body[place + 4 :]
                read_or_refuse(changed)


def test_a_table_of_another_schema_is_refused():
    b = flatbuffers.Builder(64)
    b.StartObject(3)
    b.PrependUint64Slot(0, 7, 0)
    b.Finish(b.EndObject(), file_identifier=b"SLRC")
    with pytest.raises(Malformed):
        decode(bytes(b.Output()))
    with pytest.raises(Malformed):
        decode(encode(1, m.Result(b"x")).replace(b"SLRC", b"OTHR"))


@given(st.integers(10, 255))
def test_a_payload_of_an_unknown_kind_is_refused(kind):
    body = bytearray(encode(1, m.Result(b"x")))
    body[40] = kind
    with pytest.raises(Malformed):
        decode(bytes(body))


def test_a_trail_of_any_announced_length_costs_no_memory():
    body = bytearray(encode(1, m.Call(1, 2, 3, 4, "m", b"", tuple(range(16)))))
    for length in (17, 65, 2**29, 2**32 - 1):
        body[-132:-128] = length.to_bytes(4, "little")
        with pytest.raises(Malformed):
            decode(bytes(body))


def test_seeded_garbage_is_refused_or_read_and_nothing_else_happens():
    luck = random.Random(7)
    seeds = [
        encode(1, m.Call(1, 2, 3, 4, "m", b"x" * 20)),
        encode(1, m.Error(1, "a", "b")),
        encode(1, m.Error(1, "a", "b", "c")),
        encode(1, m.Chunk(9, b"y")),
    ]
    for _ in range(30_000):
        body = bytearray(luck.choice(seeds))
        for _ in range(luck.randint(1, 8)):
            body[luck.randrange(len(body))] = luck.randrange(256)
        read_or_refuse(bytes(body[: luck.randint(0, len(body))] if luck.random() < 0.2 else body))
