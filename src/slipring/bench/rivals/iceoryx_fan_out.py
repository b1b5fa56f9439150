# SPDX-License-Identifier: Apache-2.0
"""iceoryx2 to many subscriber processes, delivering everything.

A subscriber that finds nothing lets others run: busy polling collapses when there are more processes than processors,
and an event for each message to each of them was slower.
"""

import ctypes
from os import sched_yield

import iceoryx2 as iox2

from slipring.bench.rivals.iceoryx import BusyPoll
from slipring.bench.transport import Receive, Send

MOST = 64


class FanOut(BusyPoll):
    def _shared(self, channel: str):
        name = iox2.ServiceName.new(channel)
        builder = self._open_node().service_builder(name).publish_subscribe(self.payload_type)
        builder = builder.subscriber_max_buffer_size(self.buffered).enable_safe_overflow(False)
        return self._keep(builder.max_subscribers(MOST).max_nodes(MOST + 1).open_or_create())

    def receiver(self, channel: str) -> Receive:
        builder = self._shared(channel).subscriber_builder().buffer_size(self.buffered)
        receive, copy, size = self._keep(builder.create()).receive, ctypes.string_at, self.size

        def receive_one():
            while (sample := receive()) is None:
                sched_yield()
            return copy(sample.payload_ptr, size)

        return receive_one

    def publisher(self, channel: str, crowd: int) -> Send:
        builder = self._shared(channel).publisher_builder()
        strategy = iox2.BackpressureStrategy.RetryUntilDelivered
        return self._sending_with(self._keep(builder.backpressure_strategy(strategy).create()))


TRANSPORTS = {"iceoryx2-fan-out": FanOut}
