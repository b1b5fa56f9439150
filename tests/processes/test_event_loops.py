# SPDX-License-Identifier: Apache-2.0
"""Event loops that come and go: nothing keeps them, and a closed one keeps no subscriber."""

import asyncio
import gc
import weakref

import pytest

from support.waiting import eventually

SMALL = {"capacity": 4096, "slots": 16}


def _collected(*references: weakref.ref) -> bool:
    gc.collect()
    return all(reference() is None for reference in references)


@pytest.mark.parametrize("kind", ["subscriber", "member"])
def test_event_loops_that_have_waited_are_freed(bus, kind):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    sub = bus.subscriber("t") if kind == "subscriber" else bus.join("t", sender="m")
    loops = []

    async def main() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        assert await sub.arecv(timeout=0.001) is None
        waiting = asyncio.create_task(sub.arecv())
        await asyncio.sleep(0)
        pub.send(b"x")
        assert (await waiting).body == b"x"

    for _ in range(30):
        asyncio.run(main())
    eventually(lambda: _collected(*loops), "all loops freed")


def test_event_loops_that_end_while_a_task_waits_are_freed(bus):
    bus.publisher("t", **SMALL)
    sub = bus.subscriber("t")
    kept = []

    async def main() -> None:
        kept.append(weakref.ref(asyncio.get_running_loop()))
        kept.append(weakref.ref(asyncio.create_task(sub.arecv())))
        await asyncio.sleep(0)

    for _ in range(30):
        asyncio.run(main())
    eventually(lambda: _collected(*kept), "all loops and tasks freed")


@pytest.mark.parametrize("kind", ["subscriber", "member"])
def test_a_loop_closed_while_a_task_waits_holds_no_reliable_topic_back(bus, kind):
    pub = bus.publisher("t", delivery="reliable", **SMALL)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # "Task was destroyed but it is pending!"
    sub = bus.subscriber("t") if kind == "subscriber" else bus.join("t", sender="m")
    task = loop.create_task(sub.arecv())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    references = weakref.ref(loop), weakref.ref(task)
    del sub, task, loop
    eventually(lambda: _collected(*references), "the loop and its task freed")
    eventually(lambda: bus.stats("t")["readers"] == [], "the subscriber gone")
    for _ in range(100):
        pub.send(b"x")
