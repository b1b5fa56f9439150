# SPDX-License-Identifier: Apache-2.0
"""The schema of a topic is given when it is made, never changes, and is compared with what an opener asks for."""

import numpy as np
import pytest

import slipring
from conformance.sides import topic_facts
from conformance.typed.samples import FIXED, SMALL, STILL, Fewer, Imu, Needs, OtherType
from slipring._bus.schema.declare import declare


def test_every_opener_of_a_bus_reads_the_schema(backend, bus):
    bus.create("imu", schema=Imu, **SMALL)
    with backend.open() as other:
        for each in (bus, other):
            found = each.schema("imu")
            assert found == declare(Imu) and found.hash == declare(Imu).hash
            assert (found.name, found.encoding) == ("Imu", "msgpack")
    with pytest.raises(slipring.TopicNotFound):
        bus.schema("missing")


@pytest.mark.parametrize("opened", ["create", "publisher"])
def test_another_schema_is_refused_by_field_and_changes_nothing(backend, bus, opened):
    bus.create("imu", schema=Imu, **SMALL)
    before = backend.contents(bus)
    with pytest.raises(slipring.SchemaMismatch) as refused:
        getattr(bus, opened)("imu", schema=OtherType)
    error = refused.value
    assert (error.field, error.found, error.asked, error.argument) == ("t", "float64", "int64", "schema")
    assert "topic 'imu'" in str(error) and "field t" in str(error)
    assert backend.contents(bus) == before and bus.schema("imu") == declare(Imu)


@pytest.mark.needs("members")
def test_a_member_with_another_schema_is_refused(bus):
    bus.create("imu", schema=Imu, delivery="reliable", **SMALL)
    with pytest.raises(slipring.SchemaMismatch, match="field t"):
        bus.join("imu", "ann", schema=OtherType)
    assert bus.join("imu", "ann", schema=Imu).closed is False


def test_another_encoding_is_refused(bus):
    bus.create("imu", schema=Imu, encoding="json", **SMALL)
    with pytest.raises(
        slipring.SchemaMismatch, match="encoding json in the topic and asked for as encoding msgpack"
    ):
        bus.publisher("imu", schema=Imu)


def test_names_of_classes_do_not_count(bus):
    from dataclasses import make_dataclass

    renamed = make_dataclass(
        "Renamed", [("t", float), ("acc", tuple[float, float, float]), ("ok", bool, True)]
    )
    bus.create("imu", schema=Imu, **SMALL)
    pub, sub = bus.publisher("imu", schema=renamed), bus.subscriber("imu", schema=renamed)
    pub.send(renamed(0.5, (0.1, 0.2, 9.8)))
    assert sub.recv(0).value == renamed(0.5, (0.1, 0.2, 9.8))
    assert bus.schema("imu").name == "Imu"


def test_a_view_that_the_topic_cannot_fill_is_refused_when_it_subscribes(bus):
    bus.create("imu", schema=Imu, **SMALL)
    before = topic_facts(bus, "imu")
    with pytest.raises(slipring.SchemaMismatch, match="topic 'imu': field speed") as refused:
        bus.subscriber("imu", schema=Needs)
    assert refused.value.field == "speed"
    assert topic_facts(bus, "imu") == before


@pytest.mark.needs("cursors")
def test_a_refused_subscriber_leaves_no_cursor(bus):
    bus.create("imu", schema=Imu, delivery="reliable", **SMALL)
    early = bus.subscriber("later", cursor="log", schema=Needs)
    bus.create("later", schema=Imu, **SMALL)
    with pytest.raises(slipring.SchemaMismatch, match="field speed"):
        bus.subscriber("imu", cursor="log", schema=Needs)
    with pytest.raises(slipring.SchemaMismatch, match="field speed"):
        early.recv(0)
    assert bus.stats("imu")["cursors"] == [] and bus.stats("later")["cursors"] == []


def test_a_schema_asked_of_an_untyped_topic_is_refused(bus):
    bus.create("raw", **SMALL)
    before = topic_facts(bus, "raw")
    for opened in (bus.create, bus.publisher, bus.subscriber):
        with pytest.raises(slipring.SchemaMismatch, match="topic 'raw': the topic has no schema") as refused:
            opened("raw", schema=Imu)
        assert refused.value.found == "no schema"
    assert topic_facts(bus, "raw") == before and bus.schema("raw") is None


def test_what_does_not_declare_a_message_creates_no_topic(bus):
    with pytest.raises(slipring.BadArgument, match="give schema= too"):
        bus.create("t", encoding="json")
    with pytest.raises(slipring.BadArgument, match="allowed is numpy"):
        bus.publisher("t", schema=np.dtype("f8"), encoding="json")
    with pytest.raises(slipring.BadArgument, match="does not declare a message"):
        bus.subscriber("t", schema=3)
    assert bus.topics() == []


def test_exist_ok_and_must_exist_hold_for_typed_topics(bus):
    with pytest.raises(slipring.TopicNotFound):
        bus.publisher("imu", schema=Imu, must_exist=True)
    bus.publisher("imu", schema=Imu, exist_ok=False, **SMALL).close()
    with pytest.raises(slipring.TopicExists):
        bus.publisher("imu", schema=Imu, exist_ok=False)
    with pytest.raises(slipring.TopicExists):
        bus.create("imu", schema=Imu, exist_ok=False)
    bus.create("imu", schema=Imu)
    bus.publisher("imu", schema=Imu, must_exist=True).close()


def test_a_subscriber_that_came_first_attaches_with_its_class(bus):
    early, plain = bus.subscriber("imu", schema=Fewer), bus.subscriber("imu")
    assert early.recv(0) is None and not early.attached
    bus.publisher("imu", schema=Imu, **SMALL).send(STILL)
    assert early.recv(0).value == Fewer([0.1, 0.2, 9.8])
    assert plain.recv(0).value["t"] == 0.5 and early.attached


def test_a_subscriber_that_came_first_is_refused_when_it_attaches(bus):
    early = bus.subscriber("imu", schema=OtherType)
    pub = bus.publisher("imu", schema=Imu, delivery="reliable", capacity=4096)
    pub.send(STILL)
    for _ in range(2):
        with pytest.raises(slipring.SchemaMismatch, match="topic 'imu': field t is float64"):
            early.recv(0)
    assert not early.attached
    fitting = bus.subscriber("imu", schema=Imu)
    for _ in range(500):  # it does not hold the topic
        pub.send(STILL)
        assert fitting.recv(60).value == STILL
    early.close()


def test_a_waiting_subscriber_that_does_not_fit_ends_its_wait(bus, background):
    early = bus.subscriber("imu", schema=OtherType)
    waiting = background(early.recv)
    waiting.wait_until_asleep()
    bus.publisher("imu", schema=Imu, **SMALL).send(STILL)
    with pytest.raises(slipring.SchemaMismatch, match="field t"):
        waiting.result()


def test_a_subscriber_with_a_class_waits_for_no_untyped_topic(bus):
    early = bus.subscriber("raw", schema=Imu)
    bus.publisher("raw", **SMALL).send(b"x")
    with pytest.raises(slipring.SchemaMismatch, match="topic 'raw': the topic has no schema"):
        early.recv(0)


def test_a_topic_made_again_may_have_another_schema(bus):
    bus.create("imu", schema=Imu, **SMALL)
    bus.remove("imu")
    bus.create("imu", schema=FIXED, **SMALL)
    assert bus.schema("imu").encoding == "numpy"
    bus.remove("imu")
    bus.create("imu", **SMALL)
    assert bus.schema("imu") is None


def test_stats_have_the_size_of_the_schema(bus):
    bus.create("imu", schema=Imu, **SMALL)
    bus.create("raw", **SMALL)
    assert bus.stats("imu")["schema_bytes"] == len(declare(Imu).to_bytes())
    assert bus.stats("raw")["schema_bytes"] == 0
