# SPDX-License-Identifier: Apache-2.0
"""Further parts of Slipring that are measured here: frames, cells, and what the files of a topic take."""

import ctypes
import time
from pathlib import Path
from typing import Any

import slipring
from slipring.bench.transport import Receive, Send, Transport

BUFFERS = 4


class Frames(Transport):
    """Four buffers, filled and read where they are."""

    spin_us: float | None = None  # as it comes: the receiver sleeps while the next frame is filled

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.bus = None

    def _open(self):
        self.bus = slipring.Bus("bench", root=self.place)
        return self.bus

    def sender(self, channel: str) -> Send:
        frames = self._open().frames(channel, shape=(self.size,), dtype="u1", buffers=BUFFERS)
        publisher, size = frames.publisher(), self.size
        publisher.wait_for_subscribers(1, 20)

        def fill(value: bytes) -> None:
            while True:
                try:
                    with publisher.frame() as array:
                        ctypes.memset(array.ctypes.data, value[0], size)
                    return
                except slipring.Full:
                    time.sleep(0)  # all are held: the receiver is at work

        return fill

    def receiver(self, channel: str) -> Receive:
        subscriber = self._open().frames(channel).subscriber()
        if self.spin_us is not None:
            subscriber.spin_us = self.spin_us

        def receive_one() -> int:
            with subscriber.recv() as frame:
                value = frame.array[0]
                if frame.array[-1] != value:
                    raise AssertionError("the two ends of a frame differ")
                return int(value)

        return receive_one

    def close(self) -> None:
        if self.bus:
            self.bus.close()


class PolledFrames(Frames):
    """The receiver never sleeps, so the sender never wakes it: as iceoryx2's, which has no other way without events."""

    spin_us = 1e6


class Cells(Transport):
    """Bytes, depth 4; the reader takes the newest. Values are copied in and out."""

    copy = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.bus = slipring.Bus("bench", root=place)
        self.cells = self.bus.cells("there", size=size, depth=4)

    def sender(self, channel: str) -> Send:
        return self.cells.writer().put

    def receiver(self, channel: str) -> Receive:
        reader, copy = self.cells.reader(), self.copy
        return lambda: reader.latest(copy=copy)

    def close(self) -> None:
        self.bus.close()


class CellsInPlace(Cells):
    """The reader gets a view: nothing is copied out."""

    copy = False


CAPACITY = 16 << 20


class Footprint(Transport):
    """A topic filled to the last message, for what its files take."""

    def settings(self) -> dict[str, Any]:
        return {}

    def footprint(self) -> tuple[list[Path], int]:
        self.bus = slipring.Bus("bench", root=self.place)
        publisher = self.bus.publisher("topic", delivery="reliable", **self.settings())
        subscriber = self.bus.subscriber("topic")
        held = 0
        try:
            while True:
                publisher.send(bytes(self.size), timeout=0)
                held += 1
        except slipring.Full:
            pass
        if subscriber.lag != held:
            raise AssertionError(f"{held} sent, {subscriber.lag} there")
        return list((self.place / "bench").iterdir()), held

    def close(self) -> None:
        self.bus.close()


class Smallest(Footprint):
    """Everything is rounded up to the least there is."""

    def settings(self) -> dict[str, Any]:
        return {"capacity": 1, "slots": 1, "max_readers": 1, "max_writers": 1, "max_cursors": 1}


class Fitted(Footprint):
    """As many slots as messages of the size fit in."""

    def settings(self) -> dict[str, Any]:
        return {"capacity": CAPACITY, "slots": CAPACITY // self.size}


TRANSPORTS = {
    "slipring-frames": Frames,
    "slipring-frames-polled": PolledFrames,
    "slipring-cells": Cells,
    "slipring-cells-in-place": CellsInPlace,
    "slipring-footprint": Footprint,
    "slipring-footprint-fitted": Fitted,
    "slipring-footprint-smallest": Smallest,
}
