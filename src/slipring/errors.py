# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, one class per cause.

SlipringError
├── BadArgument (ValueError)     an argument that can never work; .argument names it
├── TopicNotFound (LookupError)  there is no such topic (or cursor)
├── TopicExists                  it exists with other settings: .found, .asked
├── TopicGone                    it was removed, or its file deleted, under use
├── WrongLayout                  the file is not a topic of this build
├── Corrupt                      its contents contradict themselves
├── Denied (PermissionError)     file modes do not allow it
├── Busy                         somebody alive has it: one writer, a cursor
├── Full                         no room within the time-out
├── TooLarge (ValueError)        a message that can never fit
├── TooManyReaders, TooManyWriters   the topic's tables are full of the living
├── Timeout (TimeoutError)       an answer did not come in time
├── Closed                       this handle was closed, by you
├── PeerGone                     the other side is gone
├── RemoteError                  the other side answered with an error: .type, .message, .traceback
│   ├── UnknownMethod (LookupError)  the server has no such method
│   └── BadArguments (TypeError)     the method does not take these arguments
├── ForkedHandle                 the handle belongs to the parent process
├── NoSpace (OSError)            the file system is full
└── SystemFault (OSError)        any other refusal of the system, with its errno
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
    "NoSpace",
    "PeerGone",
    "RemoteError",
    "SlipringError",
    "SystemFault",
    "Timeout",
    "TooLarge",
    "TooManyReaders",
    "TooManyWriters",
    "TopicExists",
    "TopicGone",
    "TopicNotFound",
    "UnknownMethod",
    "WrongLayout",
]


class SlipringError(Exception):
    """Base of every error Slipring raises for a cause of its own."""

    code: int = 0  # of the core (slipring.h); 0: raised in Python only
    argument: str = ""  # the argument to change, where there is one

    def __init__(self, message: str = "", *, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BadArgument(SlipringError, ValueError):
    code = -16


class TopicNotFound(SlipringError, LookupError):
    code = -2


class TopicExists(SlipringError):
    code = -3

    def __init__(self, message: str = "", *, argument: str = "", found: str = "", asked: str = "") -> None:
        super().__init__(message, argument=argument)
        self.found = found
        self.asked = asked


class TopicGone(SlipringError):
    code = -4


class WrongLayout(SlipringError):
    code = -5


class Corrupt(SlipringError):
    code = -6


class Busy(SlipringError):
    code = -8


class Full(SlipringError):
    code = -9


class TooLarge(SlipringError, ValueError):
    code = -10


class Timeout(SlipringError, TimeoutError):
    code = -11


class Closed(SlipringError):
    code = -12


class TooManyReaders(SlipringError):
    code = -13


class TooManyWriters(SlipringError):
    code = -14


class ForkedHandle(SlipringError):
    code = -15


class PeerGone(SlipringError):
    pass


class RemoteError(SlipringError):
    """The other side answered with an error: its `type`, its `message`, and its `traceback` where the server sends it
    (`bus.server(…, tracebacks=True)`)."""

    def __init__(self, message: str = "", *, type: str = "", argument: str = "", traceback: str = "") -> None:
        super().__init__(f"{type}: {message}" if type else message, argument=argument)
        self.type = type
        self.message = message
        self.traceback = traceback
        if traceback:
            self.add_note(f"On the server:\n{traceback}")


class UnknownMethod(RemoteError, LookupError):
    pass


class BadArguments(RemoteError, TypeError):
    pass


class _SystemError(SlipringError, OSError):
    """Carries errno like any OSError."""

    def __init__(self, message: str = "", *, argument: str = "", errno: int = 0) -> None:
        OSError.__init__(self, message)
        self.argument = argument
        self.errno = errno
        self.strerror = os.strerror(errno) if errno else None


class Denied(_SystemError, PermissionError):
    code = -7


class NoSpace(_SystemError):
    code = -17


class SystemFault(_SystemError):
    code = -18


def _all_classes(base: type[SlipringError]) -> list[type[SlipringError]]:
    return [base, *(c for child in base.__subclasses__() for c in _all_classes(child))]


# Built from the classes, so that none is forgotten; a test compares it with the core's codes.
BY_CODE: dict[int, type[SlipringError]] = {c.code: c for c in _all_classes(SlipringError) if c.code}

for _class in _all_classes(SlipringError):
    _class.__module__ = "slipring"


def from_core(code: int, message: str, argument: str, errno: int, found: str, asked: str) -> SlipringError:
    """The exception for an error of the core; the one place where codes become classes."""
    cls = BY_CODE.get(code, SlipringError)
    if issubclass(cls, _SystemError):
        return cls(message, argument=argument, errno=errno)
    if cls is TopicExists:
        return TopicExists(message, argument=argument, found=found, asked=asked)
    return cls(message, argument=argument)
