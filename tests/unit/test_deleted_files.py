# SPDX-License-Identifier: Apache-2.0
"""Promise 18: a topic whose files were deleted without the bus raises TopicGone in every use, always."""

import asyncio
from pathlib import Path

import pytest

import slipring
from support.waiting import eventually


def delete(bus, topic: str) -> None:
    for suffix in ("ring", "readers"):
        Path(bus.path, f"{topic}.{suffix}").unlink()


def test_a_waiting_task_gets_topic_gone(bus):
    async def use() -> None:
        lasting = bus.subscriber("lasting")
        with bus.publisher("gone"), bus.publisher("lasting") as other, bus.subscriber("gone") as sub:
            tasks = [asyncio.create_task(reader.arecv()) for reader in (lasting, sub, sub)]
            await asyncio.sleep(0.02)  # they have begun; if not, they get the same error
            delete(bus, "gone")
            for task in tasks[1:]:
                with pytest.raises(slipring.TopicGone):
                    await task
            assert not tasks[0].done()  # the same thread waits for it
            other.send(b"m")
            assert (await tasks[0]).body == b"m"
        lasting.close()

    asyncio.run(use())


def test_a_publisher_that_was_refused_once_is_refused_again(bus):
    with bus.publisher("t") as pub:
        pub.send(b"m")
        delete(bus, "t")

        def refused() -> bool:
            try:
                pub.send(b"m")
            except slipring.TopicGone:
                return True
            return False

        eventually(refused)
        assert all(refused() for _ in range(200))
