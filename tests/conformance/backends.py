# SPDX-License-Identifier: Apache-2.0
"""The buses the suite runs over. A further one is one class here.

`lacks` names the capabilities a backend does not have, each with the sentence by which the documents say so.
Tests that need one (``pytestmark = pytest.mark.needs("cursors")``) are then not made for it, and
test_capabilities.py checks that the sentence is there. Nothing is skipped in silence.
"""

import asyncio
import shutil
import tempfile
import threading
from pathlib import Path

import slipring
from slipring.bridge import Server
from slipring.testing import SteppedBus
from slipring.testing.calls.runtime import SteppedEvent
from support.waiting import Call, eventually

CAPABILITIES = {
    "reliable": "delivery='reliable': publishers wait for subscribers, or get Full",
    "cursors": "named places that outlive their subscriber",
    "history": "start='last', 'oldest' or a sequence; seek",
    "in place": "loan and view are memory of the ring: sequences are taken when a loan begins, views hold",
    "ring": "capacity and slots as documented: what fits, what is kept, TooLarge",
    "lapping": "a lossy subscriber that does not read for a ring's length is lapped",
    "tables": "stats of publishers and readers, limits of their number, topics(), remove(), doctor()",
    "reader statistics": "stats of each reader as it stands",
    "members": "join",
    "no round trips": "a call that may not wait does not sleep either",
    "threads": "one handle used by several threads",
    "cells": "the newest values of one writer for one reader",
    "frames": "large arrays in place, held by their readers",
    "calls": "servers and clients",
    "awaited patterns": "arecv and async for on a pattern of topics",
}


class Backend:
    """One kind of bus. `run` is its asyncio.run; `start` begins a call in the background, as `Call` does."""

    name = ""
    lacks: dict[str, str] = {}  # noqa: RUF012 - never changed, only replaced
    step = 1  # of tests that try every one of thousands of sizes: a round trip for each is too much

    def open(self, name: str = "test"):
        """A bus; the same name again: the same bus, as another process opens it."""
        raise NotImplementedError

    def forget(self, bus) -> None:
        """A closed bus and all that is on it."""

    def close(self) -> None:
        """After the test."""

    def run(self, coroutine):
        return asyncio.run(coroutine)

    def start(self, fn, *args, **kwargs):
        return Call(fn, *args, **kwargs)

    def event(self):
        """As of threading, for functions beside the test and methods of servers."""
        return threading.Event()

    def semaphore(self):
        return threading.Semaphore(0)

    def eventually(self, condition, what: str = "the condition"):
        return eventually(condition, what)

    def contents(self, bus) -> object:
        """Everything there is on a bus, to see that nothing was changed."""
        return {topic: bus.stats(topic) for topic in bus.topics()}


class SharedMemory(Backend):
    name = "shm"

    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self, name: str = "test"):
        return slipring.Bus(name, root=self._root)

    def forget(self, bus) -> None:
        shutil.rmtree(bus.path)

    def contents(self, bus) -> object:
        return {path.name: path.read_bytes() for path in Path(bus.path).iterdir()}


class Stepped(Backend):
    name = "stepped"

    def __init__(self, root: Path) -> None:
        self._buses: dict[str, SteppedBus] = {}

    def open(self, name: str = "test"):
        bus = SteppedBus(name, automatic=True)
        if name in self._buses:
            return self._buses[name].process()
        return self._buses.setdefault(name, bus)

    def forget(self, bus) -> None:
        del self._buses[bus.name]

    def run(self, coroutine):
        return self._any().run(coroutine)

    def start(self, fn, *args, **kwargs):
        return SteppedCall(self._any(), fn, *args, **kwargs)

    def event(self):
        return SteppedEvent(self._any()._simulation)

    def semaphore(self):
        return SteppedSemaphore(self._any())

    def eventually(self, condition, what: str = "the condition"):
        found = self._any()._simulation.scheduler.block(condition, 60, what)
        assert found, f"{what} did not come true within a minute of virtual time"
        return found

    def _any(self) -> SteppedBus:
        return next(iter(self._buses.values()))


OF_ONE_HOST = "Cells, frames and calls belong to one host; a remote bus raises `BadArgument`."


class ZeroMQ(Backend):
    """A bus of this host by way of its server, over loopback; both ends in this process."""

    name = "zmq"
    lacks = {  # noqa: RUF012
        "lapping": "A remote subscriber of a lossy topic therefore loses less than one on the server's host",
        "no round trips": "`recv(timeout=0)` asks the server when no message has arrived.",
        "in place": "`loan` and `view` work on memory of the client, and copy.",
        "reader statistics": "`stats` shows the server's position, up to a window ahead.",
        "cells": OF_ONE_HOST,
        "frames": OF_ONE_HOST,
        "calls": OF_ONE_HOST,
        "awaited patterns": "Threads can read a pattern of a remote bus; asyncio cannot.",
    }
    step = 61

    def __init__(self, root: Path) -> None:
        self._root = root
        self._place = tempfile.TemporaryDirectory(prefix="slipring-bridge-state-")
        self._servers: dict[str, tuple] = {}

    def open(self, name: str = "test"):
        local = slipring.Bus(name, root=self._root)
        if name not in self._servers:
            server = Server(local, "tcp://127.0.0.1:0", state=f"{self._place.name}/state")
            self._servers[name] = server.start(), local
        return slipring.Bus(self._servers[name][0].address)

    def close(self) -> None:
        for server, local in self._servers.values():
            server.close()
            local.close()
        self._place.cleanup()


class SteppedSemaphore:
    """A thread that waits for it drives the bus."""

    def __init__(self, bus: SteppedBus) -> None:
        self._bus = bus
        self._count = 0

    def release(self) -> None:
        self._count += 1

    def acquire(self, blocking: bool = True) -> bool:
        if blocking:
            self._bus._simulation.scheduler.block(lambda: self._count, None, "a semaphore")
        taken = self._count > 0
        self._count -= taken
        return taken


class SteppedCall:
    """A spawned function, asked as a thread is asked."""

    def __init__(self, bus: SteppedBus, fn, *args, **kwargs) -> None:
        self._bus = bus
        self._task = bus.spawn(fn, *args, **kwargs)
        self.result = self._task.result

    @property
    def done(self) -> bool:
        return self._task.done

    def ended(self) -> bool:
        self._bus.run_until_idle()
        return self._task.done

    def wait_until_asleep(self) -> None:
        self._bus.run_until_idle()
        assert self._task.waiting_for, "the call ended instead of waiting"


BACKENDS = {backend.name: backend for backend in (SharedMemory, Stepped, ZeroMQ)}
