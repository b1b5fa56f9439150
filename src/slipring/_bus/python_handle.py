# SPDX-License-Identifier: Apache-2.0
"""The bases of handles that are written in Python: on a stepped bus, on a remote bus, and for a pattern of topics.

A transport defines a few primitives, marked "To be defined". The methods that a program calls are derived from them
here, with the names, defaults, checks and errors of the compiled handles.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, SupportsIndex, TypeVar

from slipring.errors import BadArgument, Closed

from . import batches
from .closing import Unpicklable
from .native import _native
from .publisher import BY_DELIVERY, PublisherBase
from .settings import timeout_s
from .subscriber import Account

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow
    from typing_extensions import Buffer

    from .typed.publisher_codec import PublisherCodec
    from .typed.subscriber_reading import Decoder, Reading

Message = _native.Message
Found = TypeVar("Found")

MOST_NAME_BYTES = 255  # of a type or sender


# Arguments, checked as the compiled handles check them


def body_bytes(body: Buffer) -> bytes:
    """Return a copy of any object with a buffer of plain data, its elements in C order."""
    return body if type(body) is bytes else _native.body_bytes(body)


def body_list(bodies: Iterable[Buffer]) -> tuple[Buffer, ...]:
    """Return the bodies; refuse one body where many are expected."""
    is_one = isinstance(bodies, str)
    if not is_one:
        try:
            memoryview(bodies).release()  # type: ignore[arg-type]  # that is the question
            is_one = True
        except TypeError:
            pass
    if is_one:
        raise TypeError(
            f"bodies must be a sequence of message bodies (use send() for one body), not {type(bodies).__name__}"
        )
    return tuple(bodies)


def text_size(argument: str, text: str) -> int:
    """Return the size of a type or sender in UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"{argument} must be str, not {type(text).__name__}")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        text = f"{argument}={text!r} cannot be encoded as UTF-8: it contains lone surrogates"
        raise BadArgument(text, argument=argument) from None


def check_length(argument: str, text: str) -> None:
    """Refuse a type or sender that is too long for a ring."""
    size = text_size(argument, text)
    if size > MOST_NAME_BYTES:
        raise BadArgument(f"{argument} has {size} bytes, at most {MOST_NAME_BYTES}", argument=argument)


def _message_count(n: SupportsIndex) -> int:
    count = operator.index(n)
    if count < 0:
        raise BadArgument(f"n={count} must be at least 0", argument="n")
    return count


def _body_size(size: SupportsIndex) -> int:
    try:
        number = operator.index(size)
    except TypeError:
        raise TypeError(f"size must be an integer number of bytes, not {type(size).__name__}") from None
    if not 0 <= number < 1 << 64:
        raise BadArgument(f"size={number} must be at least 0 and below 2**64", argument="size")
    return number


# Receiving


class Held(NamedTuple):
    """A message in a view, and what ends the hold."""

    message: Message
    release: Callable[[], None]


class PythonSubscriber(Account):
    """A subscriber. Beside the primitives here, it defines `topic`, `closed`, `attached`, `close`, `_counts`, `_seek`,
    `_ready`, `_waits` and `_check_open`."""

    spin_us = 0.0
    _schema: bytes | None = None  # of the topic, once attached
    _decoder: Decoder | None = None
    _reading: Reading

    if TYPE_CHECKING:

        def _check_open(self) -> None:
            """Raise Closed, ForkedHandle or another error that makes the subscriber unusable."""

    def _next(self, seconds: float | None, call: str, room: int | None = None) -> Message | None:
        """To be defined: return the next message, or None after the time. A message with more bytes than `room` is not
        taken: see `refuse_for_room`. call: the method, for texts about a wait."""
        raise NotImplementedError

    def _hold(self, seconds: float | None) -> Held | None:
        """To be defined: as `_next`, but hold the message until it is released."""
        raise NotImplementedError

    def _read_schema(self, data: bytes | None) -> None:
        """Note the schema of the topic, None for none; SchemaMismatch if the program's class does not fit."""
        self._decoder = self._reading(self.topic, data)
        self._schema = data

    def _message(
        self, body: bytes | memoryview, sender: str, type: str, seq: int, time_ns: int, topic: str
    ) -> Message:
        """Return a message with the decoder of the topic, if it has one."""
        decoder = self._decoder
        if decoder is None:
            return Message(body, sender, type, seq, time_ns, topic)
        return Message(body, sender, type, seq, time_ns, topic, decoder)

    def _batch_end(self, *, first: bool) -> float:
        """Return the sequence at which `recv_many` stops, so that it ends although messages keep coming. first: before
        anything is received."""
        return math.inf

    def recv(self, timeout: float | None = None) -> Message | None:
        """Return the next message, or None after timeout seconds."""
        return self._next(timeout_s(timeout), "recv")

    def recv_into(self, buffer: Buffer, timeout: float | None = None) -> Message | None:
        """Return the next message, its body copied into buffer, or None after timeout seconds."""
        seconds = timeout_s(timeout)
        _native.check_target(buffer)
        room = memoryview(buffer).cast("B")
        message = None
        try:
            message = self._next(seconds, "recv_into", room.nbytes)
        finally:
            if message is None:
                room.release()
        if message is None:
            return None
        size = len(message.body)
        room[:size] = message.body
        return self._message(
            room[:size], message.sender, message.type, message.seq, message.time_ns, message.topic
        )

    def recv_many(self, n: SupportsIndex = 1024, timeout: float | None = 0) -> list[Message]:
        """Return up to n messages; wait at most timeout seconds for the first."""
        seconds, limit = timeout_s(timeout), _message_count(n)
        messages: list[Message] = []
        end = self._batch_end(first=True) if limit else 0
        while len(messages) < limit and (not messages or messages[-1].seq + 1 < end):
            message = self._next(0 if messages else seconds, "recv_many")
            if message is None:
                break
            messages.append(message)
            if message.seq >= end:
                end = self._batch_end(first=False)
        return messages

    def _batch(self, n: SupportsIndex, timeout: float | None) -> pyarrow.RecordBatch:
        batches.pyarrow()  # before anything is taken
        return batches.of_messages(self.recv_many(n, timeout))

    def view(self, timeout: float | None = None) -> PythonView:
        """Return a context manager: the next message in place, held until exit."""
        return PythonView(self, timeout_s(timeout))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        try:
            message = self.recv(None)
        except Closed:
            message = None
        if message is None:
            raise StopIteration
        return message

    def _take_here(self) -> Message | None:
        """Return the next message that is here; never wait."""
        return self._next(0, "recv")


def refuse_for_room(size: int, room: int) -> NoReturn:
    """The next message does not fit the buffer of `recv_into`."""
    text = f"buffer has {room} bytes, the next message has {size}: use a larger buffer"
    raise BadArgument(text, argument="buffer")


class PythonView(Unpicklable):
    """`with subscriber.view(timeout) as message`."""

    def __init__(self, subscriber: PythonSubscriber, seconds: float | None) -> None:
        self._subscriber, self._seconds = subscriber, seconds
        self._held: Held | None = None
        self._used = False

    def __enter__(self) -> Message | None:
        if self._used:
            raise RuntimeError("this view was already entered: call view() for each message")
        self._subscriber._check_open()
        self._used = True
        self._held = self._subscriber._hold(self._seconds)
        return None if self._held is None else self._held.message

    def __exit__(self, *exc: object) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()


# Sending


class PythonPublisher(PublisherBase):
    """A publisher. Beside the primitives here, it defines `topic`, `sender`, `closed`, `close`, `_subscribers`,
    `_max_subscribers` and `_check_open`."""

    _loan: Callable[[int, str, float | None], PythonLoan]  # to be defined
    _schema: bytes | None = None  # of the topic
    _codec: PublisherCodec | None = None  # of a typed topic

    if TYPE_CHECKING:

        def _check_open(self) -> None:
            """Raise Closed, ForkedHandle or another error that makes the publisher unusable."""

    @property
    def _is_reliable(self) -> bool:
        """To be defined: whether the topic's delivery is "reliable"."""
        raise NotImplementedError

    def _send(self, body: bytes, type: str, sender: str, time_ns: int | None, seconds: float | None) -> int:
        """To be defined: send one message, waiting for room. time_ns: None for now."""
        raise NotImplementedError

    def _send_many(self, bodies: list[bytes], type: str, seconds: float | None) -> int | None:
        """To be defined: send all or, if one can never fit, none; the time is for all together."""
        raise NotImplementedError

    def _patience(self, timeout: float | None) -> float | None:
        """Return how long a send waits for room: by default forever on reliable topics, not at all on lossy ones."""
        if timeout is BY_DELIVERY:
            return None if self._is_reliable else 0
        return timeout_s(timeout)

    def send(self, body: Any, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send one message and return its sequence.

        body: any object with a buffer; on a typed topic, an object of its schema. timeout: None waits for room, 0 never
        waits, expiry raises Full; by default reliable topics wait and lossy ones do not."""
        codec = self._codec
        return self.send_raw(body if codec is None else codec.body(body, self.topic), type, timeout)

    def send_raw(self, body: Buffer, type: str = "", timeout: float | None = BY_DELIVERY) -> int:
        """Send bytes as they are, on a typed topic too; see `send`."""
        return self._send_as(body, type, self.sender, None, timeout)

    def _send_as(
        self, body: Buffer, type: str, sender: str, time_ns: int | None, timeout: float | None = BY_DELIVERY
    ) -> int:
        """Send a message of another sender and time."""
        self._check_open()
        text_size("type", type)
        check_length("sender", sender)
        return self._send(body_bytes(body), type, sender, time_ns, self._patience(timeout))

    def send_many(self, bodies: Any, type: str = "", timeout: float | None = BY_DELIVERY) -> int | None:
        """Send many messages and return the last one's sequence, or None if there are none.

        bodies: buffers; on a typed topic objects, a numpy array or a RecordBatch. Every body is checked before the
        first is sent. timeout as in send, for all together."""
        if self._codec is None:
            return self._send_many_raw(bodies, type, timeout)
        return self._codec.send_many(self, bodies, type, timeout)

    def _send_many_raw(
        self, bodies: Iterable[Buffer], type: str = "", timeout: float | None = BY_DELIVERY
    ) -> int | None:
        given = body_list(bodies)
        self._check_open()
        text_size("type", type)
        seconds = self._patience(timeout)
        return self._send_many([body_bytes(body) for body in given], type, seconds)

    def _send_records(
        self, bodies: Buffer, size: int, type: str, timeout: float | None = BY_DELIVERY
    ) -> int | None:
        """Send bodies of equal size, which are one after the other in one buffer."""
        content = memoryview(body_bytes(bodies))
        if size <= 0 or len(content) % size:
            text = f"size={size} must divide the {len(content)} bytes of the bodies"
            raise BadArgument(text, argument="size")
        bounds = range(0, len(content), size)
        return self._send_many_raw([content[at : at + size] for at in bounds], type, timeout)

    def loan(self, size: Any = None, type: str = "", timeout: float | None = BY_DELIVERY) -> Any:
        """Return a context manager: memory to fill in place. On a typed topic of fixed layout: a record, without size.

        Leaving the block sends the message, an exception aborts it. timeout as in send."""
        if self._codec is None:
            return self._loan_raw(size, type, timeout)
        return self._codec.loan(self, *(() if size is None else (size,)), type=type, timeout=timeout)

    def _loan_raw(
        self, size: SupportsIndex, type: str = "", timeout: float | None = BY_DELIVERY
    ) -> PythonLoan:
        return self._loan(_body_size(size), type, timeout)


class PythonLoan(Unpicklable):
    """`with publisher.loan(size) as memory`. Nothing is sent if slices or arrays of the memory are alive at the end."""

    def __init__(self, publisher: Any, size: int, type: str, timeout: float | None) -> None:
        self._publisher, self._size, self._type, self._timeout = publisher, size, type, timeout
        self._seq: int | None = None
        self._memory: Any = None
        self._view: memoryview | None = None
        self._used = False

    @property
    def seq(self) -> int | None:
        """The message's sequence, when it is known."""
        return self._seq

    def _begin(self) -> bytearray:
        """To be defined: return the memory to fill."""
        raise NotImplementedError

    def _is_in_use(self) -> bool:
        """To be defined: whether slices or arrays of `_memory` are alive."""
        raise NotImplementedError

    def _commit(self) -> None:
        """To be defined: send what is in `_memory`."""
        raise NotImplementedError

    def __enter__(self) -> memoryview:
        if self._used:
            raise RuntimeError("this loan was already entered: call loan() for each message")
        self._publisher._check_open()
        self._memory = self._begin()
        self._used = True
        self._view = memoryview(self._memory)
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        view, self._view = self._view, None
        if view is None:
            return
        with contextlib.suppress(BufferError):  # an array was made from the view itself
            view.release()
        try:
            if kind is None:
                self._finish()
        finally:
            self._memory = None

    def _finish(self) -> None:
        if self._publisher.closed:
            raise Closed("this publisher is closed")
        if self._is_in_use():
            text = (
                "nothing was sent: slices or arrays of the loan are still in use and could change the message"
            )
            raise BufferError(f"{text}; delete them before the block ends")
        self._commit()
