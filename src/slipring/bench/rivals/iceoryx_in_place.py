# SPDX-License-Identifier: Apache-2.0
"""iceoryx2 without a copy: a loan is sent, and its first byte read where it lies; delivering everything, busy poll."""

import ctypes

from slipring.bench.rivals.iceoryx import BusyPoll
from slipring.bench.transport import Receive, Send


class InPlace(BusyPoll):
    def _sending_with(self, publisher) -> Send:
        loan, copy = publisher.loan_uninit, ctypes.memmove

        def send(body):
            sample = loan()
            copy(sample.payload_ptr, body, 1)
            sample.assume_init().send()

        return send

    def receiver(self, channel: str) -> Receive:
        subscriber = self._keep(
            self._service(channel).subscriber_builder().buffer_size(self.buffered).create()
        )
        receive, look, size = subscriber.receive, ctypes.string_at, range(self.size)

        def receive_one():
            while (sample := receive()) is None:
                pass
            look(sample.payload_ptr, 1)
            # Stands for the bytes that nobody copied; only its length is looked at.
            return size

        return receive_one


TRANSPORTS = {"iceoryx2-in-place": InPlace}
