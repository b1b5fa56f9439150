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
        ann, bob = bus.join("chat", sender="ann", **SMALL), bus.join("chat", sender="bob")
        for _ in range(20):
            ann.send(b"x", timeout=0.01) if bob.lag < 10 else bob.recv()
        bus.run(watch(bus))
        doomed = bus.publisher("imu")
        bus.kill(doomed, at="claimed")
        with contextlib.suppress(Killed):
            doomed.send(b"x")
        bus.lose("imu", 3)
        bus.publisher("imu").send_many([b"x"] * 5)
        bus.run_until_idle()
    return bus.trace


if __name__ == "__main__":
    print("\n".join(run(int(sys.argv[1]))))
