# SPDX-License-Identifier: Apache-2.0
"""The standard library's way to share the newest value: an array behind a lock."""

import multiprocessing

from slipring.bench.transport import Receive, Send, Transport


class Array(Transport):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.array = multiprocessing.get_context("fork").Array("c", size)

    def sender(self, channel: str) -> Send:
        array = self.array
        lock, view = array.get_lock(), memoryview(array.get_obj()).cast("B")

        def put(body: bytes) -> None:
            with lock:
                view[:] = body

        return put

    def receiver(self, channel: str) -> Receive:
        array = self.array
        lock, view = array.get_lock(), memoryview(array.get_obj()).cast("B")

        def latest() -> bytes:
            with lock:
                return bytes(view)

        return latest

    def close(self) -> None:
        pass


TRANSPORTS = {"mp-array": Array}
