# SPDX-License-Identifier: Apache-2.0
"""The exceptions of Slipring: one class for each cause.

SlipringError
├── BadArgument (ValueError)     an argument that is never valid; .argument names it
├── TopicNotFound (LookupError)  the topic, or the cursor, does not exist
├── TopicExists                  it exists with other settings: .found, .asked
├── SchemaMismatch               the topic has another schema: .found, .asked, .field
├── Undecodable (ValueError)     a body is not a message of the topic's schema; .field names the place
├── TopicGone                    it was removed, or its file was deleted, while in use
├── WrongLayout                  the file was made by an incompatible build, or is not a topic
├── Corrupt                      the contents of the file contradict each other
├── Denied (PermissionError)     file modes do not allow it
├── Busy                         a living process uses it: one writer, a cursor
├── Full                         no room in the ring within the time-out
├── TooLarge (ValueError)        the message never fits into the topic
├── TooManyReaders, TooManyWriters   living processes use all entries of the topic
├── Timeout (TimeoutError)       no answer within the time-out
├── Closed                       this handle was closed
├── PeerGone                     the process or host on the other side is gone
├── RemoteError                  the server answered with an error: .type, .message, .traceback
│   ├── UnknownMethod (LookupError)  the server has no such method
│   └── BadArguments (TypeError)     the method does not accept these arguments
├── ForkedHandle                 the handle belongs to the parent process
├── MissingExtra (ImportError)   a required package is missing: the message names the extra
├── NoSpace (OSError)            the file system is full
└── SystemFault (OSError)        any other error of a system call, with its errno
"""

from __future__ import annotations

import os

__all__ = [
    "BadArgument",
    "BadArguments",
    "Busy",
    "Closed",
    "Corrupt",
    "Denied",
    "ForkedHandle",
    "Full",
    "MissingExtra",
    "NoSpace",
    "PeerGone",
    "RemoteError",
    "SchemaMismatch",
    "SlipringError",
    "SystemFault",
    "Timeout",
    "TooLarge",
    "TooManyReaders",
    "TooManyWriters",
    "TopicExists",
    "TopicGone",
    "TopicNotFound",
    "Undecodable",
    "UnknownMethod",
    "WrongLayout",
]


class SlipringError(Exception):
    """The base class of all errors of Slipring."""

    code: int = 0  # the code of the core (slipring.h); 0: raised by Python code only
    argument: str = ""  # the argument to change, if there is one

    def __init__(self, message: str = "", *, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BadArgument(SlipringError, ValueError):
    """An argument has a value that is never valid; `argument` names it."""

    code = -16


class TopicNotFound(SlipringError, LookupError):
    """The topic, or the cursor, does not exist."""

    code = -2


class TopicExists(SlipringError):
    """The topic exists with other settings: `found` and `asked`."""

    code = -3

    def __init__(self, message: str = "", *, argument: str = "", found: str = "", asked: str = "") -> None:
        super().__init__(message, argument=argument)
        self.found = found
        self.asked = asked


class SchemaMismatch(SlipringError):
    """The topic has another schema: `field` names the first difference, `found` and `asked` are its types."""

    code = -21

    def __init__(
        self,
        message: str = "",
        *,
        argument: str = "schema",
        found: str = "",
        asked: str = "",
        field: str = "",
    ) -> None:
        super().__init__(message, argument=argument)
        self.found = found
        self.asked = asked
        self.field = field


class Undecodable(SlipringError, ValueError):
    """A body is not a message of the topic's schema.

    `field` names the place, "" the whole body; `topic` and `seq` name the message. `batch`, of
    `recv_batch(decode=True)`, has the rows of all other messages that were taken."""

    def __init__(self, message: str = "", *, argument: str = "", field: str = "") -> None:
        super().__init__(message, argument=argument)
        self.field = field
        self.topic = ""
        self.seq: int | None = None
        self.batch: object = None


class TopicGone(SlipringError):
    """The topic was removed, or its file was deleted, while in use."""

    code = -4


class WrongLayout(SlipringError):
    """The file was made by an incompatible build, or is not a topic."""

    code = -5


class Corrupt(SlipringError):
    """The contents of the file contradict each other."""

    code = -6


class Busy(SlipringError):
    """A living process uses it: the only writer, or a cursor."""

    code = -8


class Full(SlipringError):
    """The ring had no room within the time-out."""

    code = -9


class TooLarge(SlipringError, ValueError):
    """The message never fits into the topic."""

    code = -10


class Timeout(SlipringError, TimeoutError):
    """No answer came within the time-out."""

    code = -11


class Closed(SlipringError):
    """This handle was closed."""

    code = -12


class TooManyReaders(SlipringError):
    """Living subscribers use all entries of the topic."""

    code = -13


class TooManyWriters(SlipringError):
    """Living publishers use all entries of the topic."""

    code = -14


class ForkedHandle(SlipringError):
    """The handle belongs to the parent process: open another in this one."""

    code = -15


class MissingExtra(SlipringError, ImportError):
    """A required package is missing. The message names the extra that installs it."""


class PeerGone(SlipringError):
    """The process or host on the other side is gone."""


class RemoteError(SlipringError):
    """The server answered with an error: its `type`, its `message`, and its `traceback` if the server sends it
    (`bus.server(…, tracebacks=True)`)."""

    def __init__(self, message: str = "", *, type: str = "", argument: str = "", traceback: str = "") -> None:
        super().__init__(f"{type}: {message}" if type else message, argument=argument)
        self.type = type
        self.message = message
        self.traceback = traceback
        if traceback:
            self.add_note(f"On the server:\n{traceback}")


class UnknownMethod(RemoteError, LookupError):
    """The server has no such method."""


class BadArguments(RemoteError, TypeError):
    """The method does not accept these arguments."""


class _SystemError(SlipringError, OSError):
    """An error with an errno, like any OSError."""

    def __init__(self, message: str = "", *, argument: str = "", errno: int = 0) -> None:
        OSError.__init__(self, message)
        self.argument = argument
        self.errno = errno
        self.strerror = os.strerror(errno) if errno else None


class Denied(_SystemError, PermissionError):
    """File modes do not allow it."""

    code = -7


class NoSpace(_SystemError):
    """The file system is full."""

    code = -17


class SystemFault(_SystemError):
    """A system call failed for another reason; `errno` names it."""

    code = -18


def _all_classes(base: type[SlipringError]) -> list[type[SlipringError]]:
    return [base, *(c for child in base.__subclasses__() for c in _all_classes(child))]


# Built from the classes, so that it is complete; a test compares it with the codes of the core.
BY_CODE: dict[int, type[SlipringError]] = {c.code: c for c in _all_classes(SlipringError) if c.code}

for _class in _all_classes(SlipringError):
    _class.__module__ = "slipring"


def from_core(code: int, message: str, argument: str, errno: int, found: str, asked: str) -> SlipringError:
    """Return the exception for an error of the core. No other function maps codes to classes."""
    cls = BY_CODE.get(code, SlipringError)
    if issubclass(cls, _SystemError):
        return cls(message, argument=argument, errno=errno)
    if cls is TopicExists or cls is SchemaMismatch:
        return cls(message, argument=argument, found=found, asked=asked)
    return cls(message, argument=argument)
