# SPDX-License-Identifier: Apache-2.0
"""iceoryx2 publish/subscribe, fixed-size payloads, delivering everything: busy poll, or woken by an event.

Of its ways to send bytes (slice, copy of a structure, loan) the loan was fastest, so it is what is measured. Both sides
copy, as everybody's do here: bytes in, bytes out; but in place, where the first byte is read where it lies."""

import ctypes
from itertools import repeat
from os import sched_yield
from pathlib import Path
from typing import Any

import iceoryx2 as iox2

from benchmarks import typed_values
from benchmarks.typed_values import SendSome, TakeSome, ValueTransport
from slipring.bench.transport import Receive, Send, Transport

# From 16 to 256 makes no difference beyond noise at 64 B; large payloads are preallocated, so fewer.
BUFFERED = 256
BUFFERED_BYTES = 16 << 20


class BusyPoll(Transport):
    history = 0  # how many of the newest are kept for subscribers that come later

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.buffered = max(4, min(BUFFERED, BUFFERED_BYTES // size))
        self.payload_type = type(
            "Payload", (ctypes.Structure,), {"_fields_": [("data", ctypes.c_uint8 * size)]}
        )
        self.node = None
        self.ports: list = []

    def _open_node(self) -> iox2.Node:
        if self.node is None:
            iox2.set_log_level(iox2.LogLevel.Error)
            config = iox2.config.default()
            config.global_cfg.root_path = iox2.Path.new(str(self.place))
            # Its memory sits flat in /dev/shm: the name lets the run find and remove what stays behind.
            config.global_cfg.prefix = iox2.FileName.new(f"{self.place.parent.name}_")
            self.node = iox2.NodeBuilder.new().config(config).create(iox2.ServiceType.Ipc)
        return self.node

    def _keep(self, port):
        self.ports.append(port)
        return port

    def _service(self, channel: str, max_subscribers: int = 1, overflow: bool = False):
        builder = (
            self._open_node()
            .service_builder(iox2.ServiceName.new(channel))
            .publish_subscribe(self.payload_type)
        )
        builder = builder.subscriber_max_buffer_size(self.buffered).enable_safe_overflow(overflow)
        if self.history:
            builder = builder.history_size(self.history)
        return self._keep(builder.max_subscribers(max_subscribers).open_or_create())

    def sender(self, channel: str) -> Send:
        builder = self._service(channel).publisher_builder()
        publisher = self._keep(
            builder.backpressure_strategy(iox2.BackpressureStrategy.RetryUntilDelivered).create()
        )
        return self._sending_with(publisher)

    def _sending_with(self, publisher) -> Send:
        loan, copy, size = publisher.loan_uninit, ctypes.memmove, self.size

        def send(body):
            sample = loan()
            copy(sample.payload_ptr, body, size)
            sample.assume_init().send()

        return send

    def receiver(self, channel: str) -> Receive:
        subscriber = self._keep(
            self._service(channel).subscriber_builder().buffer_size(self.buffered).create()
        )
        receive, copy, size = subscriber.receive, ctypes.string_at, self.size

        def receive_one():
            while (sample := receive()) is None:
                pass
            return copy(sample.payload_ptr, size)

        return receive_one

    def close(self) -> None:
        while self.ports:
            self.ports.pop()
        self.node = None


class Event(BusyPoll):
    """Sleeps in its event service between messages."""

    def _events(self, channel: str):
        return self._keep(
            self._open_node().service_builder(iox2.ServiceName.new(channel)).event().open_or_create()
        )

    def sender(self, channel: str) -> Send:
        send = super().sender(channel)
        notify = self._keep(self._events(channel).notifier_builder().create()).notify

        def send_and_notify(body):
            send(body)
            notify()

        return send_and_notify

    def receiver(self, channel: str) -> Receive:
        subscriber = self._keep(
            self._service(channel).subscriber_builder().buffer_size(self.buffered).create()
        )
        wait = self._keep(self._events(channel).listener_builder().create()).blocking_wait
        receive, copy, size = subscriber.receive, ctypes.string_at, self.size

        def receive_one():
            while (sample := receive()) is None:
                wait()
            return copy(sample.payload_ptr, size)

        return receive_one


class Overflow(BusyPoll):
    """One publisher in front of many subscribers whose full buffers overflow."""

    most = 64

    def slow_subscribers(self, channel: str, count: int):
        service = self._service(channel, max_subscribers=self.most, overflow=True)
        subscribers = [self._keep(service.subscriber_builder().create()) for _ in range(count)]

        def take_a_few():
            for subscriber in subscribers:
                for _ in range(16):
                    if subscriber.receive() is None:
                        break

        return take_a_few

    def publisher(self, channel: str, subscribers: int) -> Send:
        service = self._service(channel, max_subscribers=self.most, overflow=True)
        return self._sending_with(self._keep(service.publisher_builder().create()))


MOST = 64


class FanOut(BusyPoll):
    """To many subscriber processes, delivering everything.

    A subscriber that finds nothing lets others run: busy polling collapses when there are more processes than
    processors, and an event for each message to each of them was slower.
    """

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

    def publisher(self, channel: str, subscribers: int) -> Send:
        builder = self._shared(channel).publisher_builder()
        strategy = iox2.BackpressureStrategy.RetryUntilDelivered
        return self._sending_with(self._keep(builder.backpressure_strategy(strategy).create()))


class Frames(BusyPoll):
    """A loan is filled and sent, both ends are read where it lies; busy poll.

    As it comes, a frame that was received belongs to nobody, and its buffer is filled again at once.
    """

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
    """Keeps the newest frame for later subscribers, as Slipring does: then two buffers take turns."""

    history = 1


class InPlace(BusyPoll):
    """Without a copy: a loan is sent, and its first byte read where it lies; busy poll."""

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
            # In place of the bytes, which are not copied; the caller uses the length only.
            return size

        return receive_one


HELD_BYTES, HELD_MESSAGES = 16 << 20, 65535


class Footprint(BusyPoll):
    """One publisher and one subscriber, filled, with a buffer for as many messages as 16 MiB or 65,535 allow: what a
    topic of ours holds as it comes."""

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


class Doubles(BusyPoll, ValueTransport):
    """A structure of 8 doubles: a prepared one is copied into a loan, and a field is read where it lies; busy poll."""

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        fields = [(name, ctypes.c_double) for name in typed_values.DOUBLES]
        self.payload_type: Any = type("Doubles", (ctypes.Structure,), {"_fields_": fields})

    def value_sender(self, message: str) -> SendSome:
        send, value = self.sender("there"), bytes(self.payload_type(*typed_values.RECORD))

        def send_some(count: int) -> None:
            for _ in repeat(None, count):
                send(value)

        return send_some

    def value_receiver(self, message: str) -> TakeSome:
        builder = self._service("there").subscriber_builder().buffer_size(self.buffered)
        receive = self._keep(builder.create()).receive
        at = self.payload_type.from_address  # as Sample.payload, without its comparisons of types

        def take(count: int) -> Any:
            number = 0.0
            for _ in repeat(None, count):
                while (sample := receive()) is None:
                    pass
                number = at(sample.payload_ptr).x7
            return number

        return take


TRANSPORTS = {
    "iceoryx2-ctypes": Doubles,
    "iceoryx2": BusyPoll,
    "iceoryx2-event": Event,
    "iceoryx2-overflow": Overflow,
    "iceoryx2-fan-out": FanOut,
    "iceoryx2-frames": Frames,
    "iceoryx2-frames-kept": KeptFrames,
    "iceoryx2-in-place": InPlace,
    "iceoryx2-footprint": Footprint,
}
