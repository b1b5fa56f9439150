# SPDX-License-Identifier: Apache-2.0
"""Calls on a stepped bus: virtual deadlines, methods as driven functions, kills of both sides, and the order."""

import asyncio

import pytest

import slipring
from slipring.testing import Deadlock, SteppedBus
from support import annotated
from support.calling import offer_usual


def serve(bus, **options):
    server = bus.server("calc", **options)
    offer_usual(server)
    server.method(bus.clock.sleep, name="sleep")
    return server.start()


@pytest.fixture
def server(bus):
    return serve(bus)


def test_a_call_is_a_request_and_an_answer_in_flight(bus, server):
    client = bus.client("calc")
    task = bus.spawn(client.call, "add", 1, 2)
    assert bus.step()[0] == "calc.calls"
    assert not task.done
    assert bus.step()[0].startswith("calc.reply.")
    assert task.done and task.result() == 3
    assert bus.step() is None and bus.clock.monotonic() == 0


def test_time_passes_only_while_a_method_waits(bus, server):
    client = bus.client("calc", timeout=60)
    assert client.call("add", 1) == 1 and bus.clock.monotonic() == 0
    client.call("sleep", 7.5)
    assert bus.clock.monotonic() == 7.5
    assert client.call("later", 5) == 5 and bus.clock.monotonic() == 7.5


def test_a_time_out_ends_exactly_when_it_should_and_the_late_answer_reaches_nobody(bus, server):
    client = bus.client("calc", timeout=5)
    with pytest.raises(slipring.Timeout):
        client.call("sleep", 6)
    assert bus.clock.monotonic() == 5
    assert client.call("echo", "mine") == "mine"
    bus.advance(2)
    bus.run_until_idle()
    assert client.call("echo", "mine") == "mine"
    assert server.stats()["cancelled"] == 1 and server.stats()["open"] == 0


def test_work_whose_deadline_has_passed_is_never_begun(bus, server):
    client, ran = bus.client("calc", timeout=60), []
    server.method(ran.append, name="note")
    blocked = bus.spawn(client.call, "sleep", 10)
    bus.run_until_idle()
    for timeout in (1, 2):
        with pytest.raises(slipring.Timeout):
            client.within(timeout).call("note", timeout)
    blocked.result()
    assert client.call("note", 3) is None and ran == [3]
    assert bus.clock.monotonic() == 10


def test_a_call_that_no_server_can_answer_is_a_deadlock(bus, server):
    opened = bus.cells("never", size=1).reader()
    server.method(opened.wait, name="wait")
    client = bus.client("calc", timeout=None)
    with pytest.raises(Deadlock, match=r"the answer to 'wait'.*wait on cells 'never'"):
        client.call("wait")
    with pytest.raises(Deadlock, match="wait_for_server of 'nobody'"):
        bus.client("nobody").wait_for_server()


def test_a_waiting_client_continues_when_the_server_starts(bus):
    client = bus.client("calc")
    task = bus.spawn(lambda: (bus.clock.sleep(3), serve(bus)))
    assert client.wait_for_server(60) is True
    assert bus.clock.monotonic() == 3
    assert client.call("add", 2) == 2
    task.result()


def test_a_client_that_reads_nothing_costs_the_server_nothing_and_can_continue(bus, server):
    slow, other = bus.client("calc", timeout=60, capacity="64KiB"), bus.client("calc")
    stream = slow.stream("count", 40, 20_000)
    bus.run_until_idle()
    before = bus.clock.monotonic()
    assert other.call("add", 1) == 1
    assert server.stats()["running"] == 0 and bus.clock.monotonic() == before
    assert [len(part) for part in stream] == [20_000] * 40


def test_serve_and_async_calls_run_in_virtual_time(bus):
    async def main():
        server = bus.server("calc")

        @server.method
        async def nap(seconds):
            await asyncio.sleep(seconds)
            return seconds

        serving = asyncio.ensure_future(server.serve())
        client = bus.client("calc", timeout=3600)
        await asyncio.sleep(0.001)
        naps = await asyncio.gather(*(client.acall("nap", seconds) for seconds in (30, 10, 20)))
        server.close()
        await serving
        return naps

    assert bus.run(main()) == [30, 10, 20]
    assert bus.clock.monotonic() == 30.001


# Deaths


@pytest.mark.parametrize("whole_process", [True, False])
def test_calls_of_a_killed_server_fail_at_once_and_the_next_server_is_found(bus, whole_process):
    process = bus.process()
    server = serve(process)
    client = bus.client("calc", timeout=None)
    waiting = bus.spawn(client.call, "sleep", 100)
    bus.run_until_idle()
    bus.kill(process if whole_process else server)
    with pytest.raises(slipring.PeerGone):
        waiting.result()
    with pytest.raises(slipring.PeerGone):
        client.call("add", 1)
    assert bus.clock.monotonic() == 0
    serve(bus)
    assert client.call("add", 1) == 1
    server.close()
    assert client.call("add", 2) == 2, "what is dead closes nothing of the living"


def test_a_server_killed_before_its_answer_has_not_answered(bus, server):
    client = bus.client("calc", timeout=None)
    assert client.call("add", 1) == 1
    answers = next(iter(server._dispatcher._clients.values()))._publisher
    bus.kill(answers, at="claimed")
    waiting = bus.spawn(client.call, "add", 2)
    bus.run_until_idle()
    assert not waiting.done
    bus.kill(server)
    with pytest.raises(slipring.PeerGone):
        waiting.result()


def test_the_calls_of_a_killed_client_are_cancelled_and_its_topic_is_removed(bus, server):
    process, seen = bus.process(), []

    @server.method
    def patient():
        call = slipring.current_call()
        bus.clock.sleep(10)
        seen.append(call.cancelled)

    doomed = process.client("calc", timeout=None)
    bus.spawn(doomed.call, "patient")
    bus.run_until_idle()
    bus.kill(process)
    problems = [one["problem"] for one in bus.doctor()]
    assert problems == ["1 table entry of dead processes", "the reply topic of a dead client"]
    bus.advance(10)
    assert seen == [True]
    assert bus.topics() == ["calc.calls", "calc.server"]
    assert server.stats()["clients"] == 0


def test_a_lost_entry_ends_the_server_with_the_reason(bus, server):
    client = bus.client("calc", timeout=None)
    assert client.call("add", 1) == 1
    bus.remove("calc.server")
    with pytest.raises(slipring.PeerGone):
        client.call("add", 1)
    bus.run_until_idle()
    assert server.closed and isinstance(server.error, slipring.TopicGone)
    assert "calc.calls" not in bus.topics()


# Order


def talk(seed: int) -> tuple[list[str], list[str]]:
    with SteppedBus(seed=seed) as bus:
        order: list[str] = []
        server = bus.server("calc", workers=4)
        server.method(lambda name: order.append(name), name="note")
        server.start()

        def call(name):
            client = bus.client("calc")
            for number in range(4):
                client.call("note", f"{name}{number}")

        for task in [bus.spawn(call, name) for name in "abcd"]:
            task.result()
    return order, bus.trace


def test_the_seed_chooses_between_callers_and_equal_seeds_have_equal_traces():
    runs = [talk(seed) for seed in range(6)]
    assert runs == [talk(seed) for seed in range(6)]
    assert len({tuple(order) for order, _ in runs}) == 6
    for order, _ in runs:
        assert all(
            [note for note in order if note[0] == name] == [f"{name}{n}" for n in range(4)] for name in "abcd"
        )


def test_annotated_methods_are_checked(bus, server):
    for function in (annotated.parts, annotated.Robot().turn):
        server.method(function)
    server.method(annotated.later, name="locate")
    client, imu = bus.client("calc"), annotated.Imu(1.5, (1.0, 2.0, 3.0))
    assert client.call("locate", imu) == {"x": 1.5, "parts": []}
    assert [part["id"] for part in client.stream("parts", imu, 3)] == [0, 1, 2]
    with pytest.raises(slipring.BadArguments, match="method 'turn', parameter 'speed': value=300"):
        client.call("turn", 1, speed=300)
    assert client.call("turn", 1, speed=3) == 3.0
