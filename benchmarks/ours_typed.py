# SPDX-License-Identifier: Apache-2.0
"""Slipring with values: typed topics one value a call, in place and as columns; msgspec by hand on an untyped topic."""

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import slipring
from benchmarks import typed_values
from benchmarks.typed_values import ROWS, SendSome, TakeSome, ValueTransport
from slipring.bench.ours import BATCH, CAPACITY, PATIENCE_S
from slipring.bench.transport import Receive

LAST = typed_values.DOUBLES[-1]


class Values(ValueTransport):
    """One value a call: `send` and `recv` with `value`; bytes are those of an untyped topic."""

    def __init__(self, place: Path, size: int, channels: Sequence[str] = ("there",)) -> None:
        super().__init__(place, size, channels)
        self.buses: list[slipring.Bus] = []

    def _open(self) -> slipring.Bus:
        bus = slipring.Bus("bench", root=self.place)
        self.buses.append(bus)
        return bus

    def _schema(self, message: str) -> Any:
        if message == "bytes":
            return None
        return typed_values.dtype() if message == "doubles" else typed_values.declared(message)

    def _subscriber(self, message: str) -> Any:
        bus, schema = self._open(), self._schema(message)
        bus.create("there", capacity=CAPACITY, delivery="reliable", schema=schema)
        return bus.subscriber("there", schema=None if message == "doubles" else schema)

    def _publisher(self, message: str) -> Any:
        return self._open().publisher("there", schema=self._schema(message))

    def value_receiver(self, message: str) -> TakeSome:
        recv = self._subscriber(message).recv
        return {"bytes": taking_bytes, "doubles": taking_records}.get(message, taking_objects)(recv)

    def value_sender(self, message: str) -> SendSome:
        send = self._publisher(message).send
        if message == "bytes":
            value: Any = typed_values.BODY
        else:
            value = typed_values.array()[0] if message == "doubles" else typed_values.example(message)

        def send_some(count: int) -> None:
            for _ in repeat(None, count):
                send(value)

        return send_some

    def close(self) -> None:
        for bus in self.buses:
            bus.close()


def taking_bytes(recv: Receive) -> TakeSome:
    def take(count: int) -> Any:
        body = b""
        for _ in repeat(None, count):
            body = recv().body
        return body

    return take


def taking_objects(recv: Receive) -> TakeSome:
    def take(count: int) -> Any:
        value: Any = None
        for _ in repeat(None, count):
            value = recv().value
            _ = value.seq
        return value

    return take


def taking_records(recv: Receive) -> TakeSome:
    def take(count: int) -> Any:
        number = 0.0
        for _ in repeat(None, count):
            number = recv().value[LAST]
        return number

    return take


class ByHand(Values):
    """An untyped topic, whose program calls msgspec: what a typed topic does, without its checks."""

    def _schema(self, message: str) -> Any:
        return None

    def value_receiver(self, message: str) -> TakeSome:
        recv = self._subscriber(message).recv
        decode = typed_values.decoder(message)

        def take(count: int) -> Any:
            value: Any = None
            for _ in repeat(None, count):
                value = decode(recv().body)
                _ = value.seq
            return value

        return take

    def value_sender(self, message: str) -> SendSome:
        send, encode = self._publisher(message).send, typed_values.encoder()
        value = typed_values.example(message)

        def send_some(count: int) -> None:
            for _ in repeat(None, count):
                send(encode(value))

        return send_some


class Loans(Values):
    """A record filled in the memory of the message, by an assignment of a prepared record."""

    def value_sender(self, message: str) -> SendSome:
        loan, value = self._publisher(message).loan, typed_values.array()[0]

        def send_some(count: int) -> None:
            for _ in repeat(None, count):
                with loan() as record:
                    record[...] = value

        return send_some


class Columns(Values):
    """Arrays of records, a thousand a call, into Arrow columns; bytes by lists, into one column."""

    at_once = 10 * ROWS

    def value_receiver(self, message: str) -> TakeSome:
        subscriber = self._subscriber(message)
        decode, name = (False, "value") if message == "bytes" else (True, LAST)

        def take(count: int) -> Any:
            batch: Any = None
            while count > 0:
                batch = subscriber.recv_batch(min(BATCH, count), PATIENCE_S, decode=decode)
                count -= batch.num_rows
            return batch.column(name)[-1].as_py()

        return take

    def value_sender(self, message: str) -> SendSome:
        send_many = self._publisher(message).send_many
        values = [typed_values.BODY] * ROWS if message == "bytes" else typed_values.array()

        def send_some(count: int) -> None:
            for _ in repeat(None, count // ROWS):
                send_many(values)

        return send_some


TRANSPORTS = {
    "slipring-values": Values,
    "slipring-by-hand": ByHand,
    "slipring-loans": Loans,
    "slipring-columns": Columns,
}
