# SPDX-License-Identifier: Apache-2.0
"""asyncio in virtual time, and in any other loop."""

import asyncio

import pytest

import slipring
from slipring.testing import SteppedBus

SMALL = {"capacity": 4096, "slots": 16}


def test_sleeping_in_the_loop_of_the_bus_costs_no_time(bus):
    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert bus.run(main()) == bus.clock.monotonic() == 3600


def test_tasks_and_time_outs_share_the_virtual_clock(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    seen = []

    async def talk() -> None:
        for number in range(5):
            await asyncio.sleep(10)
            pub.send(b"%d" % number)

    async def listen() -> None:
        while True:
            message = await sub.arecv(timeout=4)
            seen.append((bus.clock.monotonic(), message and message.body))
            if message and message.body == b"4":
                return

    async def main() -> None:
        await asyncio.gather(talk(), listen())

    bus.run(main())
    assert seen[:3] == [(4.0, None), (8.0, None), (10.0, b"0")]
    assert [entry for entry in seen if entry[1]] == [(10.0 * (n + 1), b"%d" % n) for n in range(5)]


def test_a_message_is_delivered_when_no_task_can_continue(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    order = []

    async def listen() -> None:
        async for message in sub:
            order.append(message.body)
            if len(order) == 6:
                return

    async def work() -> None:
        pub.send_many([b"a", b"b"])
        for _ in range(4):
            order.append("working")
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(listen(), work())

    bus.run(main())
    assert order == ["working"] * 4 + [b"a", b"b"]


def test_to_thread_is_a_function_of_the_bus(bus):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")

    async def main() -> list[bytes]:
        sending = asyncio.create_task(asyncio.to_thread(pub.send_many, [b"%d" % n for n in range(40)]))
        got = [(await sub.arecv()).body for _ in range(40)]
        assert await sending == 39
        return got

    assert bus.run(main()) == [b"%d" % number for number in range(40)]


def test_an_error_in_to_thread_reaches_the_task(bus):
    async def main() -> None:
        with pytest.raises(KeyError):
            await asyncio.to_thread({}.__getitem__, "x")

    bus.run(main())


def test_a_runner_of_asyncio_takes_the_loop_of_the_bus(bus):
    async def main() -> float:
        await asyncio.sleep(60)
        return bus.clock.monotonic()

    with asyncio.Runner(loop_factory=bus.event_loop) as runner:
        assert runner.run(main()) == 60


@pytest.mark.parametrize("automatic", [False, True])
def test_any_other_loop_delivers_too(automatic):
    with SteppedBus(automatic=automatic) as bus:
        pub, sub = bus.publisher("t"), bus.subscriber("t")
        ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")

        async def main() -> list[bytes]:
            waiting = asyncio.create_task(sub.arecv())
            hearing = asyncio.create_task(bob.arecv())
            await asyncio.sleep(0)
            pub.send_many([b"a", b"b"])
            ann.send(b"hi")
            got = [(await waiting).body, (await hearing).body]
            async for message in sub:
                return [*got, message.body]

        assert asyncio.run(main()) == [b"a", b"hi", b"b"]
        assert asyncio.run(sub.arecv(timeout=0.01)) is None


def test_closing_ends_the_tasks_of_a_loop(bus):
    sub = bus.subscriber("t")

    async def main() -> str:
        task = asyncio.create_task(sub.arecv())
        await asyncio.sleep(0)
        sub.close()
        with pytest.raises(slipring.Closed):
            await task
        return "released"

    assert bus.run(main()) == "released"


def test_a_blocking_call_in_a_task_continues_in_virtual_time(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")

    async def main() -> tuple[object, float]:
        assert sub.recv(timeout=5) is None
        pub.send(b"x")
        return sub.recv().body, asyncio.get_running_loop().time()

    assert bus.run(main()) == (b"x", 5.0)
