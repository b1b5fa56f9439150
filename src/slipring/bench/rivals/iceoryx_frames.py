# SPDX-License-Identifier: Apache-2.0
"""iceoryx2 with large frames: a loan is filled and sent, both ends are read where it lies; busy poll.

As it comes, a frame that was received is nobody's, and its buffer is filled again at once. Slipring keeps the newest
frame for whoever comes later, and so does iceoryx2 with a history of one (`iceoryx2-frames-kept`): then two buffers
take turns.
"""

import ctypes

from slipring.bench.rivals.iceoryx import BusyPoll
from slipring.bench.transport import Receive, Send


class Frames(BusyPoll):
    def _sending_with(self, publisher) -> Send:
        loan, fill, size = publisher.loan_uninit, ctypes.memset, self.size

        def send(value):
            sample = loan()
            fill(sample.payload_ptr, value[0], size)
            sample.assume_init().send()

        return send

    def receiver(self, channel: str) -> Receive:
        subscriber = self._keep(
            self._service(channel).subscriber_builder().buffer_size(self.buffered).create()
        )
        receive, look, last = subscriber.receive, ctypes.string_at, self.size - 1

        def receive_one():
            while (sample := receive()) is None:
                pass
            value = look(sample.payload_ptr, 1)[0]
            if look(sample.payload_ptr + last, 1)[0] != value:
                raise AssertionError("the two ends of a frame differ")
            return value

        return receive_one


class KeptFrames(Frames):
    history = 1


TRANSPORTS = {"iceoryx2-frames": Frames, "iceoryx2-frames-kept": KeptFrames}
