# SPDX-License-Identifier: Apache-2.0
"""The same subscriber under asyncio: arecv, async for, time-outs, cancellation, close."""

import asyncio
import contextlib

import pytest

import slipring

SMALL = {"capacity": "64KiB", "slots": 1024}


@pytest.fixture
def pair(bus):
    return bus.publisher("t", **SMALL), bus.subscriber("t")


async def turns(count: int = 5) -> None:
    """Lets every other task of the loop come to its wait."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_arecv_returns_a_message_that_is_there(pair, run):
    pub, sub = pair
    pub.send(b"x", type="kind")
    message = run(sub.arecv())
    assert (message.body, message.type) == (b"x", "kind")


def test_arecv_waits_without_blocking_the_loop(pair, run):
    pub, sub = pair

    async def main() -> list[bytes]:
        got = []
        for number in range(100):
            task = asyncio.ensure_future(sub.arecv())
            await turns()
            assert not task.done()
            pub.send(b"%d" % number)
            got.append((await task).body)
        return got

    assert run(main()) == [b"%d" % number for number in range(100)]


def test_arecv_is_woken_by_another_thread(bus, pair, background, run):
    pub, sub = pair

    async def main() -> int:
        total = 0
        while total < 5000:
            message = await sub.arecv()
            assert message.body == b"%d" % total
            total += 1
        return total

    # the ring keeps fewer than are sent, so the sender keeps to the receiver's pace
    def publish() -> None:
        for number in range(5000):
            while sub.lag > 500:
                bus.clock.sleep(0.001)
            pub.send(b"%d" % number)

    publishing = background(publish)
    assert run(main()) == 5000
    publishing.result()
    assert sub.lost == 0


def test_arecv_that_expires_returns_none(pair, run):
    _, sub = pair
    assert run(sub.arecv(timeout=0)) is None
    assert run(sub.arecv(0.02)) is None


def test_filtered_messages_do_not_extend_the_time_out_of_arecv(bus, pair, run):
    pub, _ = pair
    sub = bus.subscriber("t", ignore_types=["noise"])

    async def main():
        task = asyncio.ensure_future(sub.arecv(timeout=0.2))
        while not task.done():
            pub.send(b"x", type="noise")
            await asyncio.sleep(0.001)
        return task.result()

    assert run(main()) is None


def test_async_for_yields_messages_in_order(pair, run):
    pub, sub = pair

    async def main() -> list[bytes]:
        pub.send_many([b"%d" % number for number in range(50)])
        got = []
        async for message in sub:
            got.append(message.body)
            if len(got) == 50:
                pub.send(b"last")
            if message.body == b"last":
                return got

    assert run(main()) == [b"%d" % number for number in range(50)] + [b"last"]


def test_a_cancelled_arecv_loses_no_message(pair, run):
    pub, sub = pair

    async def main() -> list[bytes]:
        got = []
        for number in range(200):
            task = asyncio.ensure_future(sub.arecv())
            await turns(number % 4)
            if number % 2:
                pub.send(b"%d" % number)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                got.append((await task).body)
        while message := await sub.arecv(timeout=0):
            got.append(message.body)
        return got

    assert run(main()) == [b"%d" % number for number in range(200) if number % 2]
    assert (sub.received, sub.lost) == (100, 0)


def test_a_time_limit_of_asyncio_cancels_arecv(pair, run):
    pub, sub = pair

    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sub.arecv(), 0.05)
        pub.send(b"later")
        return await sub.arecv()

    assert run(main()).body == b"later"


def test_many_subscribers_wait_in_one_loop(bus, run):
    count = 40
    pubs = [bus.publisher(f"t{number}", capacity=4096, slots=16) for number in range(count)]
    subs = [bus.subscriber(f"t{number}") for number in range(count)]

    async def main() -> list[bytes]:
        tasks = [asyncio.ensure_future(sub.arecv()) for sub in subs]
        await turns()
        for number in reversed(range(count)):
            pubs[number].send(b"%d" % number)
            await tasks[number]
        return [task.result().body for task in tasks]

    assert run(main()) == [b"%d" % number for number in range(count)]


def test_two_waits_on_one_subscriber_get_a_message_each(pair, run):
    pub, sub = pair

    async def main() -> set[bytes]:
        tasks = [asyncio.ensure_future(sub.arecv()) for _ in range(2)]
        await turns()
        pub.send(b"a")
        pub.send(b"b")
        return {message.body for message in await asyncio.gather(*tasks)}

    assert run(main()) == {b"a", b"b"}


@pytest.mark.parametrize("what", ["subscriber", "bus"])
def test_closing_releases_arecv_with_closed(bus, pair, what, run):
    _, sub = pair

    async def main() -> None:
        task = asyncio.ensure_future(sub.arecv())
        await turns()
        (sub if what == "subscriber" else bus).close()
        with pytest.raises(slipring.Closed):
            await task

    run(main())


def test_async_for_ends_when_the_subscriber_is_closed(pair, run):
    pub, sub = pair

    async def main() -> list[bytes]:
        pub.send_many([b"a", b"b"])
        got = []
        async for message in sub:
            got.append(message.body)
            if len(got) == 2:
                asyncio.get_running_loop().call_soon(sub.close)
        return got

    assert run(main()) == [b"a", b"b"]


def test_a_removed_topic_releases_arecv(bus, pair, run):
    _, sub = pair

    async def main() -> None:
        task = asyncio.ensure_future(sub.arecv())
        await turns()
        bus.remove("t")
        with pytest.raises(slipring.TopicGone):
            await task

    run(main())


def test_one_subscriber_serves_several_loops_and_threads_in_turn(pair, background, run):
    pub, sub = pair
    for number in range(5):
        pub.send_many([b"%d" % number] * 3)
        assert run(sub.arecv()).body == b"%d" % number
        assert sub.recv(timeout=0).body == b"%d" % number
        assert background(lambda: run(sub.arecv())).result().body == b"%d" % number


def test_arecv_before_the_topic_exists_is_woken_by_its_first_message(bus, run):
    sub = bus.subscriber("later")

    async def main():
        task = asyncio.ensure_future(sub.arecv())
        await turns()
        bus.publisher("later", **SMALL).send(b"first")
        return await task

    assert run(main()).body == b"first"


def test_a_member_can_be_used_under_asyncio(bus, run):
    ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")

    async def main():
        task = asyncio.ensure_future(bob.arecv())
        await turns()
        ann.send(b"hi")
        return await task

    assert run(main()).body == b"hi"


def test_async_with_closes_subscribers(bus, run):
    async def main():
        async with bus.subscriber("t") as sub:
            assert not sub.closed
        return sub.closed

    assert run(main())


@pytest.mark.needs("calls")
def test_async_with_closes_servers_and_clients(bus, run):
    async def main():
        async with bus.server("calc") as server, bus.client("calc", timeout=60) as client:
            server.method(lambda a, b: a + b, name="add")
            server.start()
            assert await client.acall("add", 1, 2) == 3
        return server.closed, client.closed

    assert run(main()) == (True, True)
