# SPDX-License-Identifier: Apache-2.0
"""A program that uses much of the API at once. Prints the trace of a run: ``python robot.py SEED``."""

import asyncio
import contextlib
import sys

import slipring
from slipring.testing import Killed, SteppedBus

SMALL = {"capacity": 4096, "slots": 16}


def sense(bus, topic: str, pace_s: float) -> None:
    with bus.publisher(topic, sender=topic, **SMALL) as pub:
        for number in range(20):
            pub.send(b"%d" % number, type="even" if number % 2 == 0 else "odd")
            bus.clock.sleep(pace_s)


def fuse(bus, topics: list[str]) -> None:
    subs = [bus.subscriber(topic) for topic in topics]
    with bus.publisher("pose", delivery="reliable", **SMALL) as pub:
        while ready := slipring.wait(subs, timeout=1.0):
            for sub in ready:
                for message in sub.recv_many(3):
                    pub.send(message.body, type=message.topic)


def record(bus) -> None:
    with bus.subscriber("pose", cursor="log") as sub:
        while sub.recv(timeout=2.0) is not None:
            sub.commit()


def steer(bus) -> None:
    """Cells: only the newest pose counts."""
    reader = bus.cells("goal", dtype="i8", depth=2).reader()
    while reader.wait(1.0):
        reader.latest()
        bus.clock.sleep(0.002)


def film(bus) -> None:
    with bus.frames("camera", shape=(2, 3), buffers=3).publisher() as pub:
        for number in range(10):
            with pub.frame(meta=number) as array:
                array[...] = number
            bus.clock.sleep(0.002)


def look(bus) -> None:
    with bus.frames("camera").subscriber() as sub:
        while True:
            with sub.recv(1.0) as frame:
                if frame is None:
                    return
            bus.clock.sleep(0.003)


def ask(bus, name: str) -> None:
    with bus.client("planner") as client:
        for number in range(5):
            assert client.call("plan", name, number) == [name, number]
        assert sum(client.stream("path", 30)) == 435


def serve(bus):
    server = bus.server("planner", workers=2)

    @server.method
    def plan(name, number):
        bus.clock.sleep(0.001)
        return [name, number]

    @server.method
    async def path(n):
        for number in range(n):
            await asyncio.sleep(0.001)
            yield number

    return server.start()


async def watch(bus) -> None:
    async def tap(topic: str) -> None:
        sub = bus.subscriber(topic, types=["even"], lossy=True)
        while await sub.arecv(timeout=1.5) is not None:
            await asyncio.sleep(0.003)

    await asyncio.gather(tap("imu"), tap("lidar"), tap("pose"))


def run(seed: int) -> list[str]:
    with SteppedBus(seed=seed) as bus:
        topics = ["imu", "lidar", "wheels"]
        for pace, topic in enumerate(topics, 1):
            bus.spawn(sense, bus, topic, pace / 1000)
        bus.spawn(fuse, bus, topics)
        bus.spawn(record, bus)
        for part in (steer, film, look):
            bus.spawn(part, bus)
        planner = serve(bus)
        asking = [bus.spawn(ask, bus, name) for name in ("ann", "bob")]
        goals = bus.cells("goal", dtype="i8", depth=2).writer()
        ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
        for _ in range(20):
            ann.send(b"x", timeout=0.01) if bob.lag < 10 else bob.recv()
            goals.put(bob.lag)
        bus.run(watch(bus))
        doomed = bus.publisher("imu")
        bus.kill(doomed, at="claimed")
        with contextlib.suppress(Killed):
            doomed.send(b"x")
        for task in asking:
            task.result()
        bus.kill(planner)
        bus.lose("imu", 3)
        bus.publisher("imu").send_many([b"x"] * 5)
        bus.run_until_idle()
    return bus.trace


if __name__ == "__main__":
    print("\n".join(run(int(sys.argv[1]))))
