# SPDX-License-Identifier: Apache-2.0
"""msgspec without a transport: what encoding and decoding cost alone."""

from itertools import repeat
from typing import Any

from benchmarks import typed_values
from benchmarks.typed_values import SendSome, TakeSome, ValueTransport


class Alone(ValueTransport):
    """No transport: msgspec encodes, and decodes the last body, in one process."""

    def value_sender(self, message: str) -> SendSome:
        encode, value = typed_values.encoder(), typed_values.example(message)

        def send_some(count: int) -> None:
            for _ in repeat(None, count):
                self.body = encode(value)

        return send_some

    def value_receiver(self, message: str) -> TakeSome:
        decode = typed_values.decoder(message)

        def take(count: int) -> Any:
            body, value = self.body, None
            for _ in repeat(None, count):
                value = decode(body)
                _ = value.seq
            return value

        return take


TRANSPORTS = {"msgspec": Alone}
