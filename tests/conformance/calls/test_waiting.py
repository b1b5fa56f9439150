# SPDX-License-Identifier: Apache-2.0
"""Time-outs, late answers, cancellation, and the end of servers and clients (promises 23, 24)."""

import pytest

import slipring

pytestmark = pytest.mark.needs("calls")


def test_a_late_answer_is_dropped_and_never_reaches_another_call(client, gate):
    with pytest.raises(slipring.Timeout) as caught:
        client.within(0.05).call("gate", "late")
    assert caught.value.argument == "timeout"
    assert isinstance(caught.value, TimeoutError)
    gate.opened.set()
    for number in range(100):
        assert client.call("echo", number) == number


def test_an_answer_that_crosses_the_cancellation_is_counted_as_late(client, gate):
    call = client._begin("echo", ("late",), {}, None, 0)
    del call.replies._calls[call.req_id]  # given up, and Cancel is not sent in time
    assert client.call("echo", "mine") == "mine"
    assert client.stats()["late"] == 1


def test_a_server_that_never_answers_costs_the_caller_its_time_out_only(bus):
    with bus.server("mute") as server:
        server.method(lambda: None, name="x")
        server._presence.announce("msgpack")  # it never reads
        with bus.client("mute", timeout=0.05) as client:
            for _ in range(3):
                with pytest.raises(slipring.Timeout):
                    client.call("x")


def test_a_full_request_ring_raises_full_within_the_time_out(bus):
    with bus.server("mute", capacity="64KiB") as server:
        server._presence.announce("msgpack")
        with bus.client("mute", timeout=0.05) as client:
            errors = []
            for _ in range(6):
                with pytest.raises((slipring.Timeout, slipring.Full)) as caught:
                    client.call("x", b"y" * 20000)
                errors.append(caught.type)
            assert errors[0] is slipring.Timeout
            assert errors[-1] is slipring.Full


def test_expired_work_is_dropped_by_the_server(bus, server, client, gate, background):
    ran = []
    server.method(ran.append, name="note")
    blocked = background(client.call, "gate")
    gate.entered.acquire()
    for number in range(5):
        with pytest.raises(slipring.Timeout):
            client.within(0.02).call("note", number)
    gate.opened.set()
    blocked.result()
    assert client.call("add", 1) == 1
    assert ran == []


def test_a_method_sees_that_its_caller_gave_up(bus, server, client, eventually, event):

    begun = []

    @server.method
    def patient():
        call = slipring.current_call()
        begun.append(call)
        eventually(lambda: call.cancelled, "being cancelled")
        event.set()

    stream = client.stream("echo", 1)
    stream.close()
    timeout = 0.05
    while not begun:  # one that expires before it is begun never is
        with pytest.raises(slipring.Timeout):
            client.within(timeout).call("patient")
        timeout *= 2
    assert event.wait(60)


def test_a_cancelled_call_that_waits_is_never_begun(bus, server, client, gate, background, eventually):
    ran = []
    server.method(ran.append, name="note")
    blocked = background(client.call, "gate")
    gate.entered.acquire()
    call = client._begin("note", (1,), {}, None, 0)  # without a deadline: only Cancel can stop it
    eventually(lambda: server.stats()["waiting"] == 1, "the call waiting")
    call.replies.give_up(call)
    eventually(lambda: server.stats()["cancelled"] == 1, "the cancellation arriving")
    gate.opened.set()
    blocked.result()
    assert client.call("add", 1) == 1
    assert ran == []


def test_shutdown_releases_all_callers(bus, gate, background, eventually):
    server = bus.server("calc", workers=2)
    server.method(gate, name="gate")
    server.start()
    with bus.client("calc", timeout=None) as client:
        callers = [background(client.call, "gate") for _ in range(8)]
        gate.entered.acquire()
        eventually(lambda: server.stats()["open"] == 8, "all calls arriving")
        server.close()
        for caller in callers:
            with pytest.raises(slipring.PeerGone):
                caller.result()
    gate.opened.set()


def test_shutdown_with_grace_lets_running_methods_finish(bus, gate, background):
    server = bus.server("calc")
    server.method(gate, name="gate")
    server.start()
    with bus.client("calc", timeout=None) as client:
        caller = background(client.call, "gate", "done")
        gate.entered.acquire()
        closing = background(server.close, 60.0)
        gate.opened.set()
        assert caller.result() == "done"
        closing.result()


def test_a_method_may_close_its_own_server(bus, eventually):
    server = bus.server("calc")
    server.method(server.close, name="stop")
    server.start()
    with bus.client("calc", timeout=None) as client, pytest.raises(slipring.PeerGone):
        client.call("stop")
    eventually(lambda: bus.topics() == [], "the topics going")


def test_closing_the_client_releases_its_callers(bus, server, client, gate, background):
    callers = [background(client.within(None).call, "gate") for _ in range(4)]
    gate.entered.acquire()
    client.close()
    for caller in callers:
        with pytest.raises(slipring.Closed):
            caller.result()


def test_closing_the_bus_closes_servers_and_clients(backend, background, eventually, event):
    bus = backend.open()
    server = bus.server("calc")
    server.method(lambda: event.wait(60), name="wait")
    server.start()
    client = bus.client("calc", timeout=None)
    caller = background(client.call, "wait")
    eventually(lambda: server.stats()["running"] == 1, "the call running")
    bus.close()
    with pytest.raises((slipring.PeerGone, slipring.Closed)):
        caller.result()
    event.set()
    assert server.closed and client.closed


def test_run_serves_until_it_is_closed(bus, background):
    server = bus.server("calc")
    server.method(lambda: 1, name="one")
    running = background(server.run)
    with bus.client("calc") as client:
        assert client.wait_for_server(60)
        assert client.call("one") == 1
        server.close()
        running.result()


def test_a_client_continues_with_the_next_server(bus):
    with bus.client("calc") as client:
        for number in range(5):
            with bus.server("calc") as server:
                server.method(lambda number=number: number, name="who")
                server.start()
                assert client.call("who") == number
            with pytest.raises(slipring.PeerGone):
                client.call("who")
    assert bus.topics() == []


def test_a_call_to_an_earlier_server_is_never_run(bus):
    ran = []
    with bus.client("calc", timeout=30) as client:
        with bus.server("calc") as first:
            first.method(lambda: 1, name="one")
            first.start()
            client.call("one")
            old = client._connection._hello
        with bus.server("calc") as second:
            second.method(ran.append, name="note")
            second.start()
            assert client.wait_for_server(30)
            hello, _ = client._connection.ready()
            assert hello.instance != old.instance
            client._connection._hello = hello._replace(instance=old.instance)
            with pytest.raises(slipring.PeerGone):
                client.call("note", 1)
    assert ran == []


def test_too_many_waiting_calls_are_refused_with_full(bus, gate, background, eventually):
    with bus.server("calc", backlog=2) as server:
        server.method(gate, name="gate")
        server.start()
        with bus.client("calc", timeout=60) as client:
            callers = [background(client.call, "gate")]
            gate.entered.acquire()
            callers += [background(client.call, "gate") for _ in range(2)]
            eventually(lambda: server.stats()["waiting"] == 2, "two calls waiting")
            with pytest.raises(slipring.Full, match="2 calls"):
                client.call("gate")
            gate.opened.set()
            for caller in callers:
                caller.result()


def test_calls_sent_as_soon_as_the_calls_topic_exists_are_read(bus, monkeypatch, eventually):
    create = bus.create

    def create_and_send(topic, **settings):
        create(topic, **settings)
        with bus.publisher(topic, "0" * 16) as publisher:
            publisher.send(b"from nobody")

    monkeypatch.setattr(bus, "create", create_and_send)
    with bus.server("calc") as server:
        server.start()
        eventually(lambda: server.stats()["malformed"] == 1, "the request being read")
