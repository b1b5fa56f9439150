# SPDX-License-Identifier: Apache-2.0
"""The standard library's multiprocessing.Pipe, with bytes rather than pickled objects."""

import multiprocessing

from slipring.bench.transport import Receive, Send, Transport


class MultiprocessingPipe(Transport):
    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.ends = {channel: multiprocessing.Pipe(duplex=False) for channel in self.channels}

    def sender(self, channel: str) -> Send:
        return self.ends[channel][1].send_bytes

    def receiver(self, channel: str) -> Receive:
        return self.ends[channel][0].recv_bytes

    def close(self) -> None:
        for pair in self.ends.values():
            for end in pair:
                end.close()


TRANSPORTS = {"mp-pipe": MultiprocessingPipe}
