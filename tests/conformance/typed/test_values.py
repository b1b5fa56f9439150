# SPDX-License-Identifier: Apache-2.0
"""Typed topics: objects are sent, and the value of a message is an object; its body stays the bytes."""

import pickle

import pytest

import slipring
from conformance.typed.samples import PLAIN, SMALL, STILL, Fewer, Imu, numbered
from slipring._bus.typed.subscriber_reading import PlainMessage


@pytest.fixture
def pair(bus):
    return bus.publisher("imu", schema=Imu, **SMALL), bus.subscriber("imu", schema=Imu)


def test_objects_arrive_as_the_declared_class(pair):
    pub, sub = pair
    assert pub.send(STILL, type="imu.v1") == 0
    message = sub.recv(0)
    assert message.value == STILL and isinstance(message.value, Imu)
    assert message.value is message.value, "it is decoded once"
    assert (message.type, message.seq, message.topic) == ("imu.v1", 0, "imu")
    assert type(message.body) is bytes


def test_a_subscriber_without_a_class_gets_plain_values(bus, pair):
    plain = bus.subscriber("imu")
    pair[0].send(STILL)
    assert plain.recv(0).value == PLAIN


def test_a_publisher_without_a_class_sends_dicts(bus, pair):
    pub = bus.publisher("imu")
    pub.send(PLAIN)
    pub.send_many([PLAIN, PLAIN])
    assert [message.value for message in pair[1].recv_many()] == [STILL, STILL, STILL]
    for send in (pub.send, lambda value: pub.send_many([value]), bus.join("imu", "ann").send):
        with pytest.raises(slipring.BadArgument, match=r"topic 'imu'.*must be a dict") as caught:
            send(STILL)
        assert "schema=" in caught.value.__notes__[0], "the remedy"


def test_the_value_on_an_untyped_topic_is_the_body(bus):
    pub, sub = bus.publisher("raw", **SMALL), bus.subscriber("raw")
    pub.send(b"x")
    message = sub.recv(0)
    assert message.value is message.body and bus.schema("raw") is None


def test_a_reader_that_knows_nothing_of_its_topics_has_plain_values(bus, pair):
    raw = bus.publisher("raw", **SMALL)
    subs = [bus.subscriber(topic, schema=PlainMessage) for topic in ("imu", "raw", "*")]
    pair[0].send(STILL)
    raw.send(b"x")
    typed, untyped = subs[0].recv(0).value, subs[1].recv(0).value
    assert (typed.schema, typed.value, untyped) == (bus.schema("imu"), PLAIN, b"x")
    assert {message.topic: message.value for message in subs[2].recv_many()} == {"imu": typed, "raw": b"x"}


def test_a_class_with_fewer_fields_and_more_that_have_defaults_is_a_view(bus, pair):
    view = bus.subscriber("imu", schema=Fewer)
    pair[0].send(STILL)
    assert view.recv(0).value == Fewer([0.1, 0.2, 9.8], "none")


WRONG = {
    "a field of another type": (Imu("x", (1.0, 2.0, 3.0)), "t"),
    "too few elements": (Imu(1.0, (1.0, 2.0)), "acc"),
    "a field that is not in the schema": ({**PLAIN, "more": 1}, "more"),
    "a missing field": ({"t": 1.0}, "acc"),
    "bytes": (b"bytes", "value"),
    "another class": (Fewer([1.0]), "value"),
}


@pytest.mark.parametrize("value, named", WRONG.values(), ids=WRONG)
def test_a_wrong_object_is_refused_by_topic_and_field_and_nothing_is_claimed(pair, value, named):
    pub, sub = pair
    for send in (lambda: pub.send(value), lambda: pub.send_many([STILL, value])):
        with pytest.raises(slipring.BadArgument) as refused:
            send()
        assert refused.value.argument == named and "topic 'imu'" in str(refused.value)
    assert pub.send(STILL) == 0
    assert (sub.recv(0).seq, sub.received, sub.lost, sub.position) == (0, 1, 0, 1)


def test_send_many_of_objects_names_the_message_that_is_wrong(pair):
    pub, sub = pair
    assert pub.send_many(numbered(3)) == 2 and pub.send_many([]) is None
    assert [message.value for message in sub.recv_many()] == numbered(3)
    with pytest.raises(slipring.BadArgument, match="topic 'imu': message 1: t='x'"):
        pub.send_many([STILL, Imu("x", (1.0, 2.0, 3.0))])
    with pytest.raises(TypeError, match=r"use send\(\) for one"):
        pub.send_many(PLAIN)


def test_bytes_are_sent_by_send_raw_and_a_bad_body_does_not_stop_the_next(pair):
    pub, sub = pair
    pub.send(STILL)
    pub.send_raw(b"\x83garbage", type="raw")
    pub.send(STILL)
    first, bad, third = sub.recv_many(9)
    assert first.value == third.value == STILL
    for _ in range(2):
        with pytest.raises(slipring.Undecodable, match="topic 'imu', sequence 1") as refused:
            bad.value  # noqa: B018 - the property decodes
        assert (refused.value.topic, refused.value.seq) == ("imu", 1)
    assert (bad.body, bad.type) == (b"\x83garbage", "raw")


def test_a_body_is_sent_on_as_it_came(bus, pair):
    pub, sub = pair
    pub.send(STILL)
    body = sub.recv(0).body
    again = bus.publisher("imu")
    again.send_raw(body)
    again._send_many_raw([body, bytearray(body)])
    with again._loan_raw(len(body)) as memory:
        memory[:] = body
    again._send_as(body, "kind", "another", 7)
    messages = sub.recv_many()
    assert [message.value for message in messages] == [STILL] * 5
    assert (messages[4].sender, messages[4].time_ns) == ("another", 7)


def test_every_way_to_receive_has_values(bus, pair):
    pub, sub = pair
    pub.send_many(numbered(6))
    found = [sub.recv(0).value, *(message.value for message in sub.recv_many(2))]
    with sub.view(0) as message:
        found.append(message.value)
    buffer = bytearray(200)
    message = sub.recv_into(buffer, 0)
    found.append(message.value)
    assert bytes(message.body) == buffer[: len(message.body)]
    found.append(next(sub).value)
    assert found == numbered(6)


def test_a_value_made_in_a_view_outlives_it(pair):
    pub, sub = pair
    pub.send(STILL)
    with sub.view(0) as message:
        value = message.value
    assert value == STILL and pub.send(STILL) == 1


def test_asyncio_receives_values(pair, run):
    pub, sub = pair

    async def main():
        pub.send_many(numbered(3))
        found = [(await sub.arecv(1)).value]
        async for message in sub:
            found.append(message.value)
            if len(found) == 3:
                return found

    assert run(main()) == numbered(3)


def test_a_conflating_subscriber_has_the_newest_value(bus, pair):
    newest = bus.subscriber("imu", conflate=True, schema=Imu)
    pair[0].send_many(numbered(5))
    assert newest.recv(0).value == numbered(5)[-1]
    pair[0].send(STILL)
    assert newest.recv(0).value == STILL


@pytest.mark.needs("cursors")
def test_a_cursor_continues_with_values(bus, pair):
    with bus.subscriber("imu", cursor="log", schema=Imu) as first:
        pair[0].send_many(numbered(3))
        assert first.recv(0).value == numbered(3)[0]
        first.commit()
    with bus.subscriber("imu", cursor="log") as second:
        assert second.recv(0).value == {**PLAIN, "t": 1.0, "acc": [0.0, 0.0, 9.8]}


@pytest.mark.needs("history")
def test_earlier_messages_have_values(bus, pair):
    pair[0].send_many(numbered(3))
    sub = bus.subscriber("imu", start="oldest", schema=Imu)
    assert [message.value for message in sub.recv_many()] == numbered(3)
    sub.seek(1)
    assert sub.recv(0).value.t == 1.0


def test_a_reliable_topic_carries_more_objects_than_it_has_room_for(bus, background):
    pub = bus.publisher("imu", schema=Imu, delivery="reliable", capacity=4096)
    sub = bus.subscriber("imu", schema=Imu)
    sending = background(pub.send_many, numbered(500), timeout=None)
    assert [sub.recv(60).value for _ in range(500)] == numbered(500)
    assert sending.result() == 499


def test_a_message_is_pickled_with_its_value_decoded_or_not(bus, pair):
    plain = bus.subscriber("imu")
    pair[0].send_many([STILL, STILL, STILL])
    decoded, fresh = pair[1].recv_many(2)
    assert decoded.value == STILL
    with pair[1].view(0) as held:
        copies = [pickle.loads(pickle.dumps(message)) for message in (decoded, fresh, held, plain.recv(0))]
    assert [copy.value for copy in copies] == [STILL, STILL, STILL, PLAIN]
    assert [copy.seq for copy in copies] == [0, 1, 2, 0]


@pytest.mark.parametrize("encoding", ["msgpack", "json"])
def test_a_class_has_a_choice_of_encodings(bus, encoding):
    pub = bus.publisher("imu", schema=Imu, encoding=encoding, **SMALL)
    sub = bus.subscriber("imu", schema=Imu)
    pub.send(STILL)
    assert sub.recv(0).value == STILL and bus.schema("imu").encoding == encoding


@pytest.mark.needs("members")
def test_members_send_and_receive_objects(bus):
    ann, bob = (bus.join("chat", name, schema=Imu) for name in ("ann", "bob"))
    plain = bus.join("chat", "eve")
    ann.send(STILL, type="kind")
    message = bob.recv(0)
    assert (message.value, message.sender, message.type) == (STILL, "ann", "kind")
    assert plain.recv(0).value == PLAIN and ann.recv(0) is None
    bob.send_raw(message.body)
    assert ann.recv(0).value == STILL
    with pytest.raises(slipring.BadArgument, match="topic 'chat': t='x'"):
        ann.send(Imu("x", (1.0, 2.0, 3.0)))
    assert [message.value for message in plain.recv_many()] == [PLAIN]


@pytest.mark.needs("members")
def test_members_exchange_more_objects_than_the_topic_has_room_for(bus, background):
    members = [bus.join("chat", name, schema=Imu, capacity=4096) for name in ("ann", "bob")]

    def talk(member):
        for value in numbered(200):
            member.send(value)
        return [member.recv(60).value for _ in range(200)]

    talking = [background(talk, member) for member in members]
    assert [call.result() for call in talking] == [numbered(200)] * 2
