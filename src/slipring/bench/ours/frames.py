# SPDX-License-Identifier: Apache-2.0
"""Frames as they are measured: four buffers, filled and read where they are."""

import ctypes
import time

import slipring
from slipring.bench.transport import Receive, Send, Transport

BUFFERS = 4


class Frames(Transport):
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


TRANSPORTS = {"slipring-frames": Frames, "slipring-frames-polled": PolledFrames}
