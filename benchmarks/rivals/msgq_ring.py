# SPDX-License-Identifier: Apache-2.0
"""msgq's own ring. It overruns slow readers, so the sender lets them catch up after every window."""

import os
import sys
import time
from pathlib import Path

import msgq

from slipring.bench.transport import Receive, Send, Transport

SEGMENT_BYTES = 64 << 20
PATIENCE_MS = 1000


class MsgqRing(Transport):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.window = max(8, min(1000, SEGMENT_BYTES // (4 * size)))
        prefix = place.parent.name
        # msgq does not make this directory itself.
        self.segments = Path(f"/dev/shm/msgq_{prefix}")
        self.segments.mkdir(exist_ok=True)
        os.environ["OPENPILOT_PREFIX"] = prefix

    def publisher(self, channel: str, subscribers: int) -> Send:
        send = self.sender(channel)
        # Here the subscribers are asking already.
        self._wait_for_readers(channel, subscribers)
        return send

    def sender(self, channel: str) -> Send:
        publisher = msgq.pub_sock(channel, SEGMENT_BYTES)
        send, all_read, window = publisher.send, publisher.all_readers_updated, self.window
        sent = 0

        def send_in_windows(body):
            nonlocal sent
            if sent == 0:
                self._wait_for_readers(channel, 1)
            send(body)
            sent += 1
            if sent % window == 0:
                while not all_read():
                    pass

        return send_in_windows

    def _wait_for_readers(self, channel: str, count: int) -> None:
        """A new publisher throws readers out; they come back when they next ask, missing what was sent."""
        with open(self.segments / channel, "rb", buffering=0) as segment:
            while int.from_bytes(os.pread(segment.fileno(), 8, 0), sys.byteorder) < count:
                time.sleep(0.001)

    def receiver(self, channel: str) -> Receive:
        receive = msgq.sub_sock(channel, timeout=PATIENCE_MS, segment_size=SEGMENT_BYTES).receive

        def receive_one():
            while (body := receive()) is None:
                pass
            return body

        return receive_one


TRANSPORTS = {"msgq": MsgqRing}
