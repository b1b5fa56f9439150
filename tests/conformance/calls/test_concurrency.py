# SPDX-License-Identifier: Apache-2.0
"""Promise 23: each answer reaches its own call, with threads and asyncio on both sides."""

import asyncio
import contextlib
import threading

import pytest

import slipring
from support.calling import offer_usual

THREADS, CALLS = 8, 150

pytestmark = pytest.mark.needs("calls")


@pytest.mark.parametrize("workers", [1, 4])
def test_threads_that_share_one_client_get_their_own_answers(bus, background, workers):
    with bus.server("calc", workers=workers) as server:
        offer_usual(server)
        server.start()
        with bus.client("calc", timeout=60) as client:

            def talk(name):
                for number in range(CALLS):
                    assert client.call("echo", [name, number]) == [name, number]
                return name

            talks = [background(talk, name) for name in range(THREADS)]
            assert [talk.result() for talk in talks] == list(range(THREADS))
            assert client.stats()["late"] == 0


def test_threads_with_time_outs_and_without_get_their_own_answers(bus, background):
    with bus.server("calc", workers=2) as server:
        offer_usual(server)
        server.start()
        with bus.client("calc", timeout=60) as client:

            def talk(name):
                timeouts = 0
                for number in range(CALLS):
                    try:
                        hasty = client.within(0.0002) if name % 2 else client
                        assert hasty.call("echo", [name, number]) == [name, number]
                    except (slipring.Timeout, slipring.Full):
                        timeouts += 1
                assert name % 2 or not timeouts

            for talk in [background(talk, name) for name in range(THREADS)]:
                talk.result()


def test_methods_run_at_once_up_to_the_number_of_workers(bus, background, gate, eventually):
    with bus.server("calc", workers=3) as server:
        server.method(gate, name="gate")
        server.start()
        with bus.client("calc", timeout=60) as client:
            callers = [background(client.call, "gate", number) for number in range(5)]
            for _ in range(3):
                gate.entered.acquire()
            eventually(lambda: server.stats()["waiting"] == 2, "the others waiting")
            assert len(gate.calls) == 3
            gate.opened.set()
            assert [caller.result() for caller in callers] == list(range(5))


@pytest.mark.parametrize("clients", [1, 3])
def test_waiting_calls_begin_in_the_order_in_which_they_were_received(
    bus, background, gate, eventually, clients
):
    with bus.server("calc") as server, contextlib.ExitStack() as stack:
        begun = []
        server.method(gate, name="gate")
        server.method(begun.append, name="begin")
        server.start()
        connected = [stack.enter_context(bus.client("calc", timeout=60)) for _ in range(clients)]
        running = background(connected[0].call, "gate")
        gate.entered.acquire()
        waiting = []
        for number in range(6):
            waiting.append(background(connected[number % clients].call, "begin", number))
            eventually(lambda: server.stats()["waiting"] == len(waiting), "the call waiting")
        assert begun == []
        gate.opened.set()
        for caller in (running, *waiting):
            caller.result()
        assert begun == list(range(6))


def test_a_long_method_holds_up_no_short_one_when_there_is_a_second_worker(bus, background, gate):
    with bus.server("calc", workers=2) as server:
        offer_usual(server, gate)
        server.start()
        with bus.client("calc", timeout=60) as client:
            blocked = background(client.call, "gate", "end")
            gate.entered.acquire()
            for number in range(50):
                assert client.call("echo", number) == number
            assert not blocked.done
            gate.opened.set()
            assert blocked.result() == "end"


def test_async_methods_run_at_once_on_one_loop(bus, background):
    with bus.server("calc") as server:
        arrived, threads = [], set()
        everybody = asyncio.Event()

        @server.method
        async def meet(name):
            threads.add(threading.get_ident())
            arrived.append(name)
            if len(arrived) == 20:
                everybody.set()
            await everybody.wait()
            return name

        server.start()
        with bus.client("calc", timeout=60) as client:
            callers = [background(client.call, "meet", number) for number in range(20)]
            assert [caller.result() for caller in callers] == list(range(20))
            assert len(threads) == 1


def test_async_methods_fail_like_others(bus):
    with bus.server("calc") as server:

        @server.method
        async def fail():
            raise KeyError("x")

        @server.method
        async def takes(one):
            return one

        server.start()
        with bus.client("calc") as client:
            with pytest.raises(slipring.RemoteError) as caught:
                client.call("fail")
            assert caught.value.type == "KeyError"
            with pytest.raises(slipring.BadArguments):
                client.call("takes", 1, 2)
            assert client.call("takes", 1) == 1


def test_an_async_method_is_cancelled_when_its_caller_gives_up(backend, bus):
    with bus.server("calc") as server:
        begun, cancelled = backend.event(), backend.event()

        @server.method
        async def patient():
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        server.start()
        with bus.client("calc") as client:
            while not begun.is_set():  # on a busy machine a call may expire before it is begun
                with pytest.raises(slipring.Timeout):
                    client.within(0.05).call("patient")
            assert cancelled.wait(60)


def test_too_many_tasks_are_refused_with_full(bus, background, eventually):
    with bus.server("calc", tasks=2) as server:

        @server.method
        async def patient():
            await asyncio.sleep(3600)

        server.start()
        client = bus.client("calc", timeout=60)
        callers = [background(client.call, "patient") for _ in range(2)]
        eventually(
            lambda: server.stats()["running"] == 2 or any(caller.done for caller in callers),
            "two tasks running, or a caller that has ended",
        )
        for caller in callers:
            assert not caller.done, caller.result()  # which raises the error of the call
        with pytest.raises(slipring.Full, match="2 tasks"):
            client.call("patient")
        server.close()
        for caller in callers:
            with pytest.raises(slipring.PeerGone):
                caller.result()


def test_tasks_that_share_one_client_get_their_own_answers(client, run):
    async def talk(name):
        for number in range(30):
            assert await client.acall("echo", [name, number]) == [name, number]
        return name

    async def main():
        return await asyncio.gather(*(talk(name) for name in range(20)))

    assert run(main()) == list(range(20))


def test_tasks_and_threads_share_one_client(client, background, run):
    def talk():
        for number in range(300):
            assert client.call("echo", number) == number

    async def main():
        for number in range(300):
            assert await client.acall("later", number) == number

    talks = [background(talk) for _ in range(3)]
    run(main())
    for each in talks:
        each.result()


def test_a_task_waits_without_holding_up_its_loop(client, gate, run):
    async def main():
        call = asyncio.ensure_future(client.acall("gate", "end"))
        ticks = 0
        while not gate.entered.acquire(blocking=False):
            await asyncio.sleep(0.0001)
        for _ in range(100):
            ticks += 1
            await asyncio.sleep(0.0001)
        assert not call.done()
        gate.opened.set()
        return await call, ticks

    assert run(main()) == ("end", 100)


def test_cancelling_a_task_cancels_its_call(server, client, gate, eventually, run):
    async def main():
        call = asyncio.ensure_future(client.within(None).acall("gate"))
        while not gate.entered.acquire(blocking=False):
            await asyncio.sleep(0.0001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    run(main())
    eventually(lambda: gate.calls[0].cancelled, "the method seeing it")


def test_a_task_gets_time_outs_errors_and_the_end_of_the_server(bus, server, client, gate, run):
    async def main():
        with pytest.raises(slipring.RemoteError):
            await client.acall("fail")
        with pytest.raises(slipring.Timeout):
            await client.within(0.02).acall("gate")
        call = asyncio.ensure_future(client.within(None).acall("gate"))
        await asyncio.sleep(0.02)
        await asyncio.get_running_loop().run_in_executor(None, server.close)
        with pytest.raises(slipring.PeerGone):
            await call
        gate.opened.set()

    run(main())


def test_serve_runs_async_methods_on_the_loop_that_awaits_it(bus, run):
    async def main():
        server = bus.server("calc")

        @server.method
        async def where():
            return id(asyncio.get_running_loop())

        serving = asyncio.ensure_future(server.serve())
        with bus.client("calc") as client:
            while not client.wait_for_server(0):
                await asyncio.sleep(0.0001)
            assert await client.acall("where") == id(asyncio.get_running_loop())
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        assert server.closed

    run(main())


def test_a_method_may_call_its_own_server(bus):
    with bus.server("calc") as server, bus.client("calc", timeout=30) as inner:

        @server.method
        def factorial(n):
            return n * inner.call("factorial", n - 1) if n else 1

        server.start()
        with bus.client("calc", timeout=60) as client:
            assert client.call("factorial", 10) == 3628800


def test_nesting_beyond_the_limit_is_refused_and_all_servers_live(bus):
    with bus.server("calc") as server, bus.client("calc", timeout=30) as inner:
        server.method(lambda: inner.call("deeper"), name="deeper")
        server.start()
        with bus.client("calc", timeout=60) as client:
            with pytest.raises(slipring.RemoteError, match="nested"):
                client.call("deeper")
            with pytest.raises(slipring.RemoteError, match="nested"):
                client.call("deeper")


def test_servers_that_call_each_other_in_a_ring_make_progress(bus, background):
    with bus.server("a") as a, bus.server("b") as b:
        to_a, to_b = bus.client("a", timeout=60), bus.client("b", timeout=60)
        a.method(lambda n: [n, *(to_b.call("down", n - 1) if n else [])], name="down")
        b.method(lambda n: [n, *(to_a.call("down", n - 1) if n else [])], name="down")
        a.start()
        b.start()
        with bus.client("a", timeout=60) as client:
            callers = [background(client.call, "down", 6) for _ in range(4)]
            assert [caller.result() for caller in callers] == [[6, 5, 4, 3, 2, 1, 0]] * 4
