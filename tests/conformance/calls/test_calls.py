# SPDX-License-Identifier: Apache-2.0
"""Promise 24: every call ends with its answer or with one typed error, and the server lives."""

import datetime
import gc

import pytest

import slipring

pytestmark = pytest.mark.needs("calls")


def test_a_call_returns_what_the_method_returned(client):
    assert client.call("add", 1, b=2) == 3
    assert client.call("add", a=1, b=2) == 3


@pytest.mark.parametrize(
    "value",
    [None, True, -(2**63), 2**64 - 1, 1.5, "ü", b"\0bytes", [1, [2]], {"a": {"b": []}}, "", b"", [], {}],
    ids=repr,
)
def test_values_arrive_as_they_were_sent(client, value):
    assert client.call("echo", value) == value


def test_dates_arrive_too(client):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert client.call("echo", moment) == moment


def test_a_method_may_be_a_decorated_function_under_its_own_or_another_name(bus):
    with bus.server("calc") as server:

        @server.method
        def plain():
            return "plain"

        @server.method(name="other")
        def named():
            return "named"

        server.start()
        assert (plain(), named()) == ("plain", "named")
        with bus.client("calc") as client:
            assert (client.call("plain"), client.call("other")) == ("plain", "named")


def test_an_exception_reaches_the_caller_with_type_and_message_and_the_server_lives(client):
    with pytest.raises(slipring.RemoteError) as caught:
        client.call("fail", "missing")
    assert (caught.value.type, caught.value.message) == ("KeyError", "'missing'")
    assert type(caught.value) is slipring.RemoteError
    assert client.call("add", 1) == 1


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, RecursionError])
def test_no_exception_ends_the_server(bus, kind):
    with bus.server("calc") as server:

        @server.method
        def fail():
            raise kind("x")

        server.method(lambda: "alive", name="ask")
        server.start()
        with bus.client("calc") as client:
            for _ in range(3):
                with pytest.raises(slipring.RemoteError) as caught:
                    client.call("fail")
                assert caught.value.type == kind.__name__
            assert client.call("ask") == "alive"


def test_an_exception_that_cannot_be_printed_reaches_the_caller_by_type(bus):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    with bus.server("calc") as server:

        @server.method
        def fail():
            raise Mute

        server.start()
        with bus.client("calc") as client, pytest.raises(slipring.RemoteError) as caught:
            client.call("fail")
        assert caught.value.type == "Mute"


def test_a_very_long_error_text_is_cut(bus):
    with bus.server("calc") as server:

        @server.method
        def fail():
            raise ValueError("ä" * 1_000_000)

        server.start()
        with bus.client("calc") as client, pytest.raises(slipring.RemoteError) as caught:
            client.call("fail")
        assert len(caught.value.message.encode()) == 4096


def test_an_unknown_method_is_named_with_the_methods_that_exist(client):
    with pytest.raises(slipring.UnknownMethod, match=r"'nix'.*add") as caught:
        client.call("nix")
    assert caught.value.argument == "method"
    assert isinstance(caught.value, (slipring.RemoteError, LookupError))


@pytest.mark.parametrize(("args", "kwargs"), [((), {}), ((1, 2, 3), {}), ((1,), {"c": 3}), ((1,), {"a": 1})])
def test_arguments_that_the_method_does_not_take_are_refused(client, args, kwargs):
    with pytest.raises(slipring.BadArguments) as caught:
        client.call("add", *args, **kwargs)
    assert caught.value.argument == "arguments"
    assert client.call("add", 1) == 1


def test_a_type_error_inside_the_method_is_the_methods_own(client):
    with pytest.raises(slipring.RemoteError) as caught:
        client.call("add", 1, "x")
    assert (type(caught.value), caught.value.type) == (slipring.RemoteError, "TypeError")


def test_arguments_that_cannot_be_encoded_are_refused_here(client):
    with pytest.raises(TypeError):
        client.call("echo", object())
    with pytest.raises(slipring.BadArgument):
        client.call("echo", 2**64)
    with pytest.raises(slipring.BadArgument):
        client.call("echo", "\ud800")
    with pytest.raises(slipring.BadArgument):
        client.call("m" * 256)
    with pytest.raises(TypeError):
        client.call(b"echo")
    assert client.call("echo", 1) == 1


def test_a_value_that_cannot_be_encoded_is_an_error_of_the_method(bus):
    with bus.server("calc") as server:
        server.method(lambda: object(), name="thing")
        server.start()
        with bus.client("calc") as client, pytest.raises(slipring.RemoteError) as caught:
            client.call("thing")
        assert caught.value.type == "TypeError"


def test_an_oversize_request_is_refused_at_once_and_the_service_goes_on(client):
    with pytest.raises(slipring.TooLarge) as caught:
        client.call("echo", b"x" * (5 << 20))
    assert caught.value.argument == "arguments"
    assert client.call("add", 1) == 1


def test_an_oversize_answer_is_refused_and_never_sent(bus, server):
    with bus.client("calc", max_answer=1000) as client:
        for size in (1000, 10_000_000):
            with pytest.raises(slipring.TooLarge) as caught:
                client.call("big", size)
            assert caught.value.argument == "max_answer"
        assert len(client.call("big", 900)) == 900


@pytest.mark.parametrize("size", [0, 1, (128 << 10) - 8, 128 << 10, (128 << 10) + 1, 1 << 20, 20_000_001])
def test_answers_of_any_size_arrive_whole_through_a_small_ring(bus, server, size):
    with bus.client("calc", timeout=60, capacity="64KiB") as client:
        assert client.call("big", size) == b"x" * size


def test_without_a_server_callers_fail_at_once(bus):
    with bus.client("nobody", timeout=None) as client:
        with pytest.raises(slipring.PeerGone) as caught:
            client.call("add")
        assert caught.value.argument == "service"
    assert bus.topics() == []


def test_a_server_that_has_not_started_does_not_exist_for_clients(bus, background):
    with bus.server("calc") as server, bus.client("calc") as client:
        with pytest.raises(slipring.PeerGone):
            client.call("ask")
        assert client.wait_for_server(0) is False
        waiting = background(client.wait_for_server, 30)
        server.method(lambda: 1, name="ask")
        server.start()
        assert waiting.result() is True
        assert client.call("ask") == 1


def test_a_second_living_server_is_refused_and_the_first_not_disturbed(bus, client):
    with pytest.raises(slipring.Busy) as caught:
        bus.server("calc")
    assert caught.value.argument == "service"
    assert client.call("add", 1) == 1


def test_services_on_one_bus_are_independent(bus):
    with bus.server("a") as one, bus.server("a.b") as other:
        one.method(lambda: "one", name="who")
        other.method(lambda: "other", name="who")
        one.start()
        other.start()
        with bus.client("a") as first, bus.client("a.b") as second:
            assert (first.call("who"), second.call("who")) == ("one", "other")


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"workers": 0}, "workers"),
        ({"backlog": 0}, "backlog"),
        ({"codec": "pickle"}, "codec"),
        ({"capacity": "huge"}, "capacity"),
    ],
)
def test_bad_settings_of_a_server_are_named_and_leave_nothing(bus, options, argument):
    with pytest.raises(slipring.BadArgument) as caught:
        bus.server("calc", **options)
    assert caught.value.argument == argument
    assert bus.topics() == []


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"timeout": -1}, "timeout"),
        ({"window": 0}, "window"),
        ({"codec": "json"}, "codec"),
        ({"capacity": 4096}, "capacity"),
        ({"max_answer": 0}, "max_answer"),
    ],
)
def test_bad_settings_of_a_client_are_named(bus, options, argument):
    with pytest.raises(slipring.BadArgument) as caught:
        bus.client("calc", **options)
    assert caught.value.argument == argument


@pytest.mark.parametrize("service", ["", ".x", "a/b", "x" * 65, "-a", "a\0b"])
def test_a_bad_service_name_is_refused_by_both(bus, service):
    for make in (bus.server, bus.client):
        with pytest.raises(slipring.BadArgument):
            make(service)


def test_a_method_is_offered_once_under_a_good_name(bus):
    with bus.server("calc") as server:
        server.method(len)
        with pytest.raises(slipring.BadArgument, match="'len'"):
            server.method(len)
        with pytest.raises(slipring.BadArgument):
            server.method(len, name="")
        with pytest.raises(TypeError):
            server.method("len")
        with pytest.raises(TypeError):
            server.method(object.__call__ and type("Nameless", (), {"__call__": len})())


def test_closing_leaves_nothing_behind(bus):
    server = bus.server("calc")
    server.method(lambda: 1, name="one")
    server.start()
    client = bus.client("calc")
    assert client.call("one") == 1
    assert len(bus.topics()) == 3
    client.close()
    assert bus.topics() == ["calc.calls", "calc.server"]
    server.close()
    assert bus.topics() == []


def test_a_closed_client_and_a_closed_server_raise_closed(bus):
    server = bus.server("calc")
    client = bus.client("calc")
    client.close()
    server.close()
    with pytest.raises(slipring.Closed):
        client.call("x")
    with pytest.raises(slipring.Closed):
        server.start()
    client.close()
    server.close()


def test_a_forgotten_client_leaves_nothing_behind(bus, server, eventually):
    client = bus.client("calc")
    assert client.call("add", 1) == 1
    del client
    eventually(lambda: len(bus.topics()) == 2, "the forgotten client's topic going")


def test_a_method_sees_its_call(bus):
    with bus.server("calc") as server:

        @server.method
        def who():
            call = slipring.current_call()
            return [call.method, call.client, call.cancelled, 0 < call.remaining <= 7.0]

        server.start()
        with bus.client("calc", timeout=7.0) as client:
            assert client.call("who") == ["who", client.stats()["client"], False, True]
    assert slipring.current_call() is None


def test_one_client_may_have_several_time_outs(bus, client, gate):
    with pytest.raises(slipring.Timeout):
        client.within(0.01).call("gate")
    assert client.timeout == 20.0
    gate.opened.set()
    assert client.within(None).call("add", 1) == 1


def test_a_client_with_another_time_out_outlives_the_one_it_was_made_from(bus, server):
    hasty = bus.client("calc").within(30)
    gc.collect()
    assert hasty.call("add", 1) == 1
    hasty.close()


def test_a_started_server_without_a_reference_serves_until_its_bus_closes(backend):
    bus = backend.open()
    bus.server("calc").start()
    gc.collect()
    with bus.client("calc") as client, pytest.raises(slipring.UnknownMethod):
        client.call("nothing")
    bus.close()
    assert backend.open().topics() == []


def test_a_publisher_that_must_find_its_topic_does_not_make_it(bus):
    with pytest.raises(slipring.TopicNotFound):
        bus.publisher("missing", must_exist=True)
    assert bus.topics() == []
    bus.create("there")
    with bus.publisher("there", must_exist=True) as publisher:
        assert publisher.send(b"x") == 0
