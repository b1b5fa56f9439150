# SPDX-License-Identifier: Apache-2.0
"""docs/spec/calls.md and docs/spec/call.fbs agree with the program."""

import re
from pathlib import Path

import msgspec
import pytest

from slipring._bus.calls import envelope, protocol
from slipring._bus.calls import protocol as m
from slipring._bus.calls.envelope import decode
from support import call_schema

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENT = (REPOSITORY / "docs/spec/calls.md").read_text()
SCHEMA = (REPOSITORY / "docs/spec/call.fbs").read_text()
GENERATED = call_schema.generate()
Message, Call = GENERATED["Message"].Message, GENERATED["Call"].Call
Payload, Reason = GENERATED["Payload"].Payload, GENERATED["Reason"].Reason


def dump(name: str) -> bytes:
    """Return the bytes of an annotated block and check its offsets."""
    block = re.search(rf"^```hex {name}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)[1]
    found = b""
    for line in block.splitlines():
        offset, octets = re.match(r"([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)(?: |$)", line).groups()
        assert int(offset, 16) == len(found), line
        found += bytes.fromhex(octets)
    return found


def constant(name: str) -> str:
    return re.search(rf"^\| `{name}` \| `(.+?)` \|", DOCUMENT, re.MULTILINE)[1]


def test_the_call_in_the_document_is_what_is_sent():
    arguments = msgspec.msgpack.encode(((1,), {"b": 2}))
    call = m.Call(0x1122334455667788, 5_000_000_000, 1 << 20, 0, "add", arguments)
    assert envelope.call(1, call) == dump("call")
    assert decode(dump("call")) == (1, call)


def test_the_answer_in_the_document_is_what_is_sent():
    assert envelope.result(1, msgspec.msgpack.encode(3)) == dump("result")
    assert decode(dump("result")) == (1, m.Result(b"\x03"))


def test_the_call_in_the_document_is_read_by_generated_code():
    message = Message.GetRootAs(dump("call"), 0)
    call = Call()
    table = message.Payload()
    call.Init(table.Bytes, table.Pos)
    assert (message.ReqId(), message.PayloadType(), call.Method()) == (1, Payload.Call, b"add")
    assert (call.Server(), call.DeadlineNs(), call.MaxAnswer()) == (
        0x1122334455667788,
        5_000_000_000,
        1 << 20,
    )


def test_the_constants_of_the_document_are_those_of_the_program():
    assert int(constant("version")) == protocol.VERSION
    assert int(constant("max_service")) == protocol.MAX_SERVICE
    assert int(constant("max_method")) == protocol.MAX_METHOD
    assert int(constant("max_trail")) == protocol.MAX_TRAIL
    assert constant("client_id") == protocol.CLIENT_ID.pattern
    assert constant("presence_topic") == protocol.presence_topic("<service>")
    assert constant("calls_topic") == protocol.calls_topic("<service>")
    assert constant("reply_topic") == protocol.reply_topic("<service>", "<client>")


def test_the_reasons_of_the_document_the_schema_and_the_program_agree():
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d) \|", DOCUMENT, re.MULTILINE))
    in_schema = dict(re.findall(r"^  (\w+) = (\d)", SCHEMA, re.MULTILINE))
    assert documented == {name: number for name, number in in_schema.items() if name != "Unknown"}
    generated = {name: str(value) for name, value in vars(Reason).items() if not name.startswith("_")}
    assert generated == in_schema
    assert sorted(int(number) for number in in_schema.values()) == sorted(m.Reason)


@pytest.mark.parametrize(
    "kind", ["Hello", "Call", "Cancel", "Credit", "Result", "Part", "Chunk", "End", "Error"]
)
def test_the_messages_of_the_program_are_the_tables_of_the_schema(kind):
    body = re.search(rf"table {kind} \{{(.*?)\}}", SCHEMA, re.DOTALL)[1]
    assert re.findall(r"^  (\w+):", body, re.MULTILINE) == list(getattr(m, kind)._fields)
    assert getattr(Payload, kind) == getattr(m, kind.upper())


def test_the_topics_have_the_settings_of_the_document(bus):
    with bus.server("calc") as server, bus.client("calc") as client:
        server.method(len)
        server.start()
        assert client.call("len", "abc") == 3
        presence_stats, calls_stats = bus.stats("calc.server"), bus.stats("calc.calls")
        reply = f"calc.reply.{client.stats()['client']}"
        assert bus.topics() == ["calc.calls", reply, "calc.server"]
        assert (presence_stats["delivery"], presence_stats["writers"]) == ("lossy", "one")
        assert (presence_stats["capacity"], presence_stats["slots"]) == (4096, 16)
        assert (calls_stats["delivery"], calls_stats["writers"]) == ("reliable", "many")
        assert (bus.stats(reply)["delivery"], bus.stats(reply)["writers"]) == ("reliable", "many")
        assert [writer["sender"] for writer in calls_stats["publishers"]] == [client.stats()["client"]]
