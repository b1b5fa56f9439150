# SPDX-License-Identifier: Apache-2.0
"""One call on the server's side, from its arrival to its answer; the method that it calls; and `current_call()`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from slipring.errors import Full

from ...logs import log
from .. import envelope
from ..protocol import MAX_TRAIL, Call, Error, Reason

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    from ...wait import Clock
    from ..codecs import Codec

_NO_LOCK = threading.Lock()  # only streams are touched by several threads
_OURS = __package__.rpartition(".")[0]


class Service(NamedTuple):
    """The server as its calls see it."""

    name: str
    instance: int
    codec: Codec
    clock: Clock
    tracebacks: bool  # are sent to callers


class Caller(Protocol):
    """The client as its calls see it: client_replies.ClientReplies."""

    client: str
    gone: bool
    open: dict[int, MethodCall]  # without an answer
    piece: int  # a larger value is sent in pieces of this size

    def send(self, message: bytes) -> bool: ...
    def finish(self, call: MethodCall, message: bytes) -> None: ...
    def finish_in_pieces(self, call: MethodCall, value: bytes | memoryview) -> None: ...
    def has_room(self, message: bytes) -> bool: ...


class Parts(Protocol):
    """The stream of an answer as its call sees it: server_stream.ServerStream."""

    @property
    def next(self) -> bytes | None: ...
    def grant(self, messages: int) -> bool: ...
    def run(self) -> Any: ...


class MethodCall:
    """Returned by `slipring.current_call()` to the method that answers this call."""

    __slots__ = (
        "_cancelled", "arguments", "caller", "deadline_ns", "lock", "max_answer", "method", "req_id", "service",
        "stream", "task", "trail", "window",
    )  # fmt: skip

    def __init__(self, caller: Caller, req_id: int, call: Call, service: Service) -> None:
        self.caller: Final = caller
        self.req_id: Final = req_id
        self.service: Final = service
        _, self.deadline_ns, self.max_answer, self.window, self.method, self.arguments, self.trail = call
        self.lock: Final = threading.Lock() if self.window else _NO_LOCK
        self.stream: Parts | None = None
        self.task: asyncio.Task[None] | None = None
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether the answer is not needed any more: it was cancelled, has expired, or the caller is gone."""
        return self._cancelled or self.caller.gone or (self.late and not self.window)

    @property
    def hopeless(self) -> bool:
        """Whether the method need not be run."""
        # defect hopeless_call_begins: return False
        return self._cancelled or self.caller.gone or self.late

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return 0 < self.deadline_ns <= self.service.clock.monotonic_ns()

    @property
    def remaining(self) -> float | None:
        """The seconds that the caller still waits; None if without limit."""
        return max(0.0, self.deadline_ns / 1e9 - self.service.clock.monotonic()) if self.deadline_ns else None

    @property
    def client(self) -> str:
        """The id of the client that called."""
        return self.caller.client

    def cancel(self) -> None:
        self._cancelled = True
        task = self.task
        if task is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the task with it
                task.get_loop().call_soon_threadsafe(task.cancel)

    def nested_trail(self) -> tuple[int, ...]:
        """Return the trail of a call that the method makes: the servers that wait for it."""
        if len(self.trail) >= MAX_TRAIL:
            raise Full(f"calls are nested deeper than {MAX_TRAIL} servers", argument="method")
        return (*self.trail, self.service.instance)

    def __repr__(self) -> str:
        return (
            f"<call {self.req_id} of {self.client}: {self.method!r}{' cancelled' if self.cancelled else ''}>"
        )


MethodCall.__module__ = "slipring"

CURRENT: ContextVar[MethodCall | None] = ContextVar("slipring_current_call", default=None)


def current_call() -> MethodCall | None:
    """Return, inside a method, the call that it answers; None elsewhere.

    `cancelled` is whether the answer is still needed, `remaining` the seconds that its caller still waits."""
    return CURRENT.get()


current_call.__module__ = "slipring"


Decode = Callable[[memoryview], tuple[Sequence[Any], Mapping[str, Any]]]
Encode = Callable[[Any], bytes | memoryview]


class Coders(NamedTuple):
    """How the bytes of a method's calls are read and written: as its codec does, or as its annotations ask."""

    decode: Decode  # the arguments, or WrongArgument
    encode: Encode  # the value
    encode_part: Encode  # a part of a stream


class Method(NamedTuple):
    """A method that the server offers."""

    function: Callable[..., Any]
    is_async: bool  # a coroutine function, or an async generator
    streams: bool
    decode: Decode
    encode: Encode
    encode_part: Encode

    @classmethod
    def of(cls, function: Callable[..., Any], coders: Coders) -> Method:
        import inspect  # slow to import, and clients do without

        plain = inspect.unwrap(function)
        if not inspect.isroutine(plain) and not inspect.isclass(plain):
            plain = getattr(plain, "__call__", plain)  # noqa: B004 - the function behind an object
        generates = inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain)
        is_async = inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain)
        return cls(function, is_async, generates, *coders)


class WrongArgument(Exception):
    """An argument that does not fit its annotation; the text names method, parameter and field."""


class Refused(Exception):
    """The call has no value; the caller gets this error."""

    def __init__(self, error: Error) -> None:
        super().__init__(error)
        self.error = error


def invoke(method: Method, call: MethodCall) -> Any:
    """Call the function and return its value (a coroutine or generator has not run yet), or raise Refused."""
    if method.streams and not call.window:
        hint = f"'{call.method}' answers in parts: use client.stream()"
        raise Refused(Error(Reason.BAD_ARGUMENTS, "", hint))
    try:
        args, kwargs = method.decode(memoryview(call.arguments))
    except WrongArgument as error:
        raise Refused(Error(Reason.BAD_ARGUMENTS, "", str(error))) from None
    except Exception as error:  # noqa: BLE001 - of any codec, for any bytes
        hint = f"they cannot be decoded: {_text_of(error)}"
        raise Refused(Error(Reason.BAD_ARGUMENTS, "", hint)) from None
    call.arguments = b""
    token = CURRENT.set(call)
    try:
        return method.function(*args, **kwargs)
    except TypeError as error:
        # defect bad_arguments_blamed_on_method: if error.__traceback__ is not None and error.__traceback__.tb_next:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            # Raised by the call itself: the function was never entered.
            raise Refused(Error(Reason.BAD_ARGUMENTS, "", _text_of(error))) from None
        raise Refused(report(call, error)) from None
    # defect method_error_ends_thread: except ZeroDivisionError as error:
    except BaseException as error:  # noqa: BLE001 - anything that a method raises belongs to its caller
        raise Refused(report(call, error)) from None
    finally:
        CURRENT.reset(token)


def answer(call: MethodCall, value: Any, encode: Encode) -> None:
    """Send a value to the caller."""
    try:
        data = encode(value)
    except BaseException as error:  # noqa: BLE001 - a value that the codec does not take
        refuse(call, report(call, error))
        return
    if call.max_answer and len(data) > call.max_answer:
        refuse(call, too_large(len(data), call.max_answer))
    elif call.cancelled:
        call.caller.open.pop(call.req_id, None)
    elif len(data) <= call.caller.piece:
        call.caller.finish(call, envelope.result(call.req_id, data))
    else:
        call.caller.finish_in_pieces(call, data)


def refuse(call: MethodCall, error: Error) -> None:
    """Send an error to the caller."""
    if call.cancelled:
        call.caller.open.pop(call.req_id, None)
    else:
        call.caller.finish(call, envelope.error(call.req_id, error))


# Errors


def report(call: MethodCall, error: BaseException) -> Error:
    """Log an exception of a method, and return the error for its caller."""
    trace = _of_the_method(error.__traceback__)
    log(
        "calls", "error",
        "method '%s' of service '%s' raised %s, called by client %s",
        call.method, call.service.name, type(error).__name__, call.client,
        exc_info=(type(error), error, trace),
    )  # fmt: skip
    return describe(error, _traceback_text(error, trace) if call.service.tracebacks else "")


def describe(error: BaseException, traceback: str = "") -> Error:
    return Error(Reason.RAISED, type(error).__name__, _text_of(error), traceback)


def too_large(size: int, limit: int) -> Error:
    hint = "raise the client's max_answer, or use stream()"
    return Error(Reason.TOO_LARGE, "", f"the answer has {size} bytes, max_answer is {limit}: {hint}")


def _of_the_method(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames of the server, as long as something is left."""
    while trace is not None and _is_ours(trace) and trace.tb_next:
        trace = trace.tb_next
    return trace


def _is_ours(trace: TracebackType) -> bool:
    return str(trace.tb_frame.f_globals.get("__package__")).startswith(_OURS)


def _traceback_text(error: BaseException, trace: TracebackType | None) -> str:
    import traceback  # slow to import, and few servers send it

    try:
        return "".join(traceback.format_exception(type(error), error, trace))
    except Exception:  # noqa: BLE001 - an exception that cannot be printed
        return ""


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot even be printed
        return ""
