# SPDX-License-Identifier: Apache-2.0
"""What iceoryx2 allocates for one publisher and one subscriber, filled, with a buffer for as many messages as 16 MiB
or 65,535 allow: what a topic of ours holds as it comes."""

import ctypes
from pathlib import Path

from slipring.bench.rivals.iceoryx import BusyPoll

HELD_BYTES, HELD_MESSAGES = 16 << 20, 65535


class Footprint(BusyPoll):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.buffered = min(HELD_MESSAGES, HELD_BYTES // size)

    def footprint(self) -> tuple[list[Path], int]:
        """Its files, and how many messages are in them."""
        service = self._service("there")
        subscriber = self._keep(service.subscriber_builder().buffer_size(self.buffered).create())
        publisher = self._keep(service.publisher_builder().create())
        for _ in range(self.buffered):
            sample = publisher.loan_uninit()
            ctypes.memset(sample.payload_ptr, 1, self.size)
            sample.assume_init().send()
        if not subscriber.has_samples():
            raise AssertionError("nothing arrived")
        files = [*Path("/dev/shm").glob(f"{self.place.parent.name}_*"), *self.place.rglob("*")]
        return files, self.buffered


TRANSPORTS = {"iceoryx2-footprint": Footprint}
