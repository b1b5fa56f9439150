# SPDX-License-Identifier: Apache-2.0
"""Methods: what a server offers, and how one call of them becomes an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import encoding
from .context import CURRENT
from .failures import text_of
from .messages import Error, Reason
from .streaming import too_large

if TYPE_CHECKING:
    from .codecs import Codec
    from .job import Job


class Method(NamedTuple):
    function: Callable[..., Any]
    is_async: bool  # a coroutine function, or an async generator
    streams: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Method:
        import inspect  # slow to import, and clients do without

        plain = inspect.unwrap(function)
        if not inspect.isroutine(plain) and not inspect.isclass(plain):
            plain = getattr(plain, "__call__", plain)  # noqa: B004 - the function behind an object
        generates = inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain)
        is_async = inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain)
        return cls(function, is_async, generates)


class Refused(Exception):
    """The call has no value: what the caller gets instead."""

    def __init__(self, error: Error) -> None:
        super().__init__(error)
        self.error = error


def invoke(method: Method, job: Job, codec: Codec) -> Any:
    """What the function returns (a coroutine or generator has not run yet); Refused otherwise."""
    if method.streams and not job.window:
        hint = f"'{job.method}' answers in parts: use client.stream()"
        raise Refused(Error(Reason.BAD_ARGUMENTS, "", hint))
    try:
        args, kwargs = codec.decode_arguments(memoryview(job.arguments))
    except Exception as error:  # noqa: BLE001 - of any codec, for any bytes
        raise Refused(Error(Reason.BAD_ARGUMENTS, "", f"they cannot be decoded: {text_of(error)}")) from None
    job.arguments = b""
    token = CURRENT.set(job)
    try:
        return method.function(*args, **kwargs)
    except TypeError as error:
        # defect bad_arguments_blamed_on_method: if error.__traceback__ is not None and error.__traceback__.tb_next:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            # Raised by the call itself: the function was never entered.
            raise Refused(Error(Reason.BAD_ARGUMENTS, "", text_of(error))) from None
        raise Refused(job.caller.failures.report(job, error)) from None
    # defect method_error_ends_thread: except ZeroDivisionError as error:
    except BaseException as error:  # noqa: BLE001 - whatever a method raises belongs to its caller
        raise Refused(job.caller.failures.report(job, error)) from None
    finally:
        CURRENT.reset(token)


def answer(job: Job, codec: Codec, value: Any) -> bool:
    """Send a value to the caller; False if some of it has to be tried again."""
    try:
        data = codec.encode_value(value)
    except BaseException as error:  # noqa: BLE001 - a value that the codec does not take
        return refuse(job, job.caller.failures.report(job, error))
    if job.max_answer and len(data) > job.max_answer:
        return refuse(job, too_large(len(data), job.max_answer))
    if len(data) <= job.caller.piece:
        return job.caller.finish(job, encoding.result(job.req_id, data))
    return job.caller.finish_in_pieces(job, data)


def refuse(job: Job, error: Error) -> bool:
    return job.caller.finish(job, encoding.error(job.req_id, error))
