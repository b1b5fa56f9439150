# SPDX-License-Identifier: Apache-2.0
"""Two topics in one event loop: each task waits without blocking the other."""

import asyncio

import slipring


async def listen(sub: slipring.Subscriber, count: int) -> list[bytes]:
    received = []
    async for msg in sub:
        received.append(msg.body)
        if len(received) == count:
            break
    return received


async def main() -> None:
    with slipring.Bus("robot") as bus:
        left, right = bus.publisher("left"), bus.publisher("right")
        listeners = [asyncio.create_task(listen(bus.subscriber(name), 3)) for name in ("left", "right")]
        for number in range(3):
            left.send(b"L%d" % number)
            await asyncio.sleep(0.01)
            right.send(b"R%d" % number)
        for received in await asyncio.gather(*listeners):
            print(received)
        print("nothing more:", await bus.subscriber("left").arecv(timeout=0.05))
        bus.remove("left")
        bus.remove("right")


asyncio.run(main())
