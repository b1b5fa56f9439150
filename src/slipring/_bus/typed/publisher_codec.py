# SPDX-License-Identifier: Apache-2.0
"""PublisherCodec: what a publisher of a typed topic does with values.

`Publisher.send` calls `encode` and sends the body; `send_many` and `loan` of a typed topic are the methods here. All
of a call is encoded before anything is claimed. A publisher that only sends bytes (`send_raw`) needs no package of
the encoding: the encoder is made at the first value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from slipring.errors import BadArgument, SlipringError

from ..closing import Unpicklable
from ..publisher import BY_DELIVERY
from .error_place import locate
from .stored import schema_of

if TYPE_CHECKING:
    from ..schema.codec import Encoder
    from ..schema.topic_schema import Schema


class PublisherCodec:
    """The codec of one publisher. schema: the topic's; own: the schema of the program's class, or None."""

    def __init__(self, schema: Schema, own: Schema | None) -> None:
        self.schema, self.own = schema, own

    def locate(self, error: BaseException, topic: str, seq: int | None) -> None:
        """Add the topic to the error of a value that does not fit."""
        locate(error, topic, seq)
        if self.own is None and isinstance(error, BadArgument) and error.argument == "value":
            error.add_note("To send objects of a class, open the publisher with schema=, the class.")

    @cached_property
    def _encoder(self) -> Encoder:
        from ..schema.codec import Encoder

        return Encoder(self.schema, self.own)

    @cached_property
    def encode(self) -> Callable[[Any], Any]:
        """The function from a value to its body; BadArgument names the field that does not fit."""
        return self._encoder.encode

    def body(self, value: Any, topic: str) -> Any:
        """Return the body of one message; the error of a wrong value names the topic, too."""
        try:
            return self.encode(value)
        except SlipringError as error:
            self.locate(error, topic, None)
            raise

    def send_many(
        self, publisher: Any, bodies: Any, type: str = "", timeout: float | None = BY_DELIVERY
    ) -> int | None:
        """Send objects, or the rows of a numpy array or of a RecordBatch; see `Publisher.send_many`."""
        try:
            records = self._records(bodies)
            encoded = self._bodies(bodies) if records is None else None
        except SlipringError as error:
            self.locate(error, publisher.topic, None)
            raise
        last: int | None
        if encoded is not None:
            last = publisher._send_many_raw(encoded, type, *_given(timeout))
        else:
            last = publisher._send_records(records, self.record_size, type, *_given(timeout))
        return last

    @cached_property
    def record_size(self) -> int:
        """The bytes of a message. Encoding numpy only."""
        return int(self.dtype.itemsize)

    @cached_property
    def dtype(self) -> Any:
        """The dtype of a message. Encoding numpy only."""
        from ..schema.encodings import numpy_layout

        return numpy_layout.to_dtype(self.schema)

    def _records(self, values: Any) -> Any:
        """Return the bodies of an array or batch in one buffer; None if the values are none, or of another encoding."""
        if self.schema.encoding != "numpy":
            return None
        if batches := _batches(values):
            from ..schema.row_batches import rows_to_records

            records = [rows_to_records(self.schema, batch) for batch in batches]
            return records[0] if len(records) == 1 else b"".join(records)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(values, numpy.ndarray):
            return self._encoder.encode_array(values)
        return None

    def _bodies(self, values: Any) -> list[Any]:
        if batches := _batches(values):
            from ..schema.row_batches import rows_to_bodies

            return [body for batch in batches for body in rows_to_bodies(self.schema, batch)]
        if isinstance(values, (str, bytes, bytearray, memoryview, dict)) or not isinstance(values, Iterable):
            text = (
                f"bodies must be a collection of messages (use send() for one), not {type(values).__name__}"
            )
            raise TypeError(text)
        encode, bodies = self.encode, []
        for at, value in enumerate(values):
            try:
                bodies.append(encode(value))
            except BadArgument as error:
                error.args = (f"message {at}: {error}",)
                raise
        return bodies

    def loan(
        self,
        publisher: Any,
        *size: Any,
        type: str = "",
        timeout: float | None = BY_DELIVERY,
        **more: Any,
    ) -> RecordLoan:
        """Return a context manager: a record to fill in place. Encoding numpy only."""
        if size or more:
            raise BadArgument(
                f"topic {publisher.topic!r} has a schema, and its messages have one size: call loan() without size, or "
                "send_raw() for bytes",
                argument="size",
            )
        if self.schema.encoding != "numpy":
            raise BadArgument(
                f"topic {publisher.topic!r} has messages of encoding {self.schema.encoding}, without a fixed layout: "
                "use send(), or a numpy dtype as the schema",
                argument="schema",
            )
        return RecordLoan(publisher._loan_raw(self.record_size, type, *_given(timeout)), self.dtype)


def _given(timeout: float | None) -> tuple[float | None, ...]:
    return () if timeout is BY_DELIVERY else (timeout,)


def attach(publisher: Any, data: bytes, asked: Schema | None) -> None:
    """Give a publisher of a typed topic its codec; close it if the schema is damaged. asked: what the program gave."""
    try:
        publisher._codec = PublisherCodec(schema_of(data), asked)
    except SlipringError as error:
        publisher.close()
        locate(error, publisher.topic, None)
        raise


def _batches(values: Any) -> list[Any]:
    """Return a RecordBatch, or those of a Table, one at least; nothing for other values."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(values, (pyarrow.RecordBatch, pyarrow.Table)):
        return []
    if isinstance(values, pyarrow.RecordBatch):
        return [values]
    return values.to_batches() or [pyarrow.RecordBatch.from_pylist([], schema=values.schema)]


class RecordLoan(Unpicklable):
    """`with publisher.loan() as record`: a numpy record in the memory of the message, of zeros at first.

    Leaving the block sends the message, an exception aborts it. The record may be kept: it becomes a read-only copy.
    Slices and views of it may not, and raise BufferError.
    """

    def __init__(self, loan: Any, dtype: Any) -> None:
        self._loan, self._dtype = loan, dtype
        self._record: Any = None

    @property
    def seq(self) -> int | None:
        """The message's sequence, when it is known."""
        seq: int | None = self._loan.seq
        return seq

    def __enter__(self) -> Any:
        import numpy

        view = self._loan.__enter__()
        try:
            view[:] = bytes(len(view))
            base, shape = self._dtype.subdtype or (self._dtype, ())
            # The record is a view of another array. Views of the record refer to that array, too, and not to the
            # record: without the record, only views that are left use the memory of the message.
            self._record = numpy.ndarray(shape, base, view)[...]
        except BaseException as error:  # the message must not stay claimed
            self._loan.__exit__(type(error), error, None)
            raise
        return self._record

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        record, self._record = self._record, None
        # defect loan_record_follows_the_ring: if False:
        if record is not None:
            own_memory = (1, record.shape, record.dtype, False, record.tobytes())
            record.__setstate__(own_memory)
            record.flags.writeable = False
        self._loan.__exit__(kind, error, trace)
