# SPDX-License-Identifier: Apache-2.0
"""Slipring: a shared-memory message bus for the processes of one host.

A map of the package:

    slipring.Bus            a directory of topics; makes everything else
    slipring.Publisher      bus.publisher(): send, send_many, loan
    slipring.Subscriber     bus.subscriber(): recv, recv_many, recv_batch, view, iteration, asyncio
    slipring.PatternSubscriber  bus.subscriber("cam.*"): several topics, and those that appear later
    slipring.Member         bus.join(): both in one
    slipring.Cells          bus.cells(): the newest values of one writer for one reader
    slipring.Frames         bus.frames(): FramePublisher and FrameSubscriber of large arrays (extra "numpy")
    slipring.Server         bus.server(): methods that other processes call
    slipring.Client         bus.client(): calls them, from threads and from asyncio
    slipring.current_call   inside a method: whether its caller still waits
    slipring.Message        body, value, sender, type, seq, time_ns, topic
    slipring.wait           on many subscribers
    slipring.errors         every error, one class per cause
    slipring.bridge         a bus between hosts (extra "zmq")
    slipring.cli            the command line (extra "cli")

    slipring._bus           the Python part of the above
    slipring._native        the compiled part: one type per C type of the core
"""

from __future__ import annotations

import importlib
import typing

from ._bus.bus import Bus
from ._bus.member import Member
from ._bus.publisher import Publisher
from ._bus.subscriber import Message, Subscriber
from ._bus.wait import wait
from .errors import (
    BadArgument,
    BadArguments,
    Busy,
    Closed,
    Corrupt,
    Denied,
    ForkedHandle,
    Full,
    MissingExtra,
    NoSpace,
    PeerGone,
    RemoteError,
    SchemaMismatch,
    SlipringError,
    SystemFault,
    Timeout,
    TooLarge,
    TooManyReaders,
    TooManyWriters,
    TopicExists,
    TopicGone,
    TopicNotFound,
    Undecodable,
    UnknownMethod,
    WrongLayout,
)

if typing.TYPE_CHECKING:
    from ._bus.calls.client.client import Client
    from ._bus.calls.server.method_call import current_call
    from ._bus.calls.server.server import Server
    from ._bus.cells.cells import Cells
    from ._bus.cells.ends import CellsReader, CellsWriter
    from ._bus.frames.frames import Frames
    from ._bus.frames.publisher import FramePublisher
    from ._bus.frames.subscriber import Frame, FrameSubscriber
    from ._bus.patterns.subscriber import PatternSubscriber

__version__ = "0.1.0"

__all__ = [
    "BadArgument",
    "BadArguments",
    "Bus",
    "Busy",
    "Cells",
    "CellsReader",
    "CellsWriter",
    "Client",
    "Closed",
    "Corrupt",
    "Denied",
    "ForkedHandle",
    "Frame",
    "FramePublisher",
    "FrameSubscriber",
    "Frames",
    "Full",
    "Member",
    "Message",
    "MissingExtra",
    "NoSpace",
    "PatternSubscriber",
    "PeerGone",
    "Publisher",
    "RemoteError",
    "SchemaMismatch",
    "Server",
    "SlipringError",
    "Subscriber",
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
    "current_call",
    "wait",
]

wait.__module__ = "slipring"

# Imported when first asked for: a process that publishes and subscribes starts twice as fast without them.
_LATER = {
    "Cells": "cells.cells",
    "CellsReader": "cells.ends",
    "CellsWriter": "cells.ends",
    "Client": "calls.client.client",
    "Frame": "frames.subscriber",
    "FramePublisher": "frames.publisher",
    "FrameSubscriber": "frames.subscriber",
    "Frames": "frames.frames",
    "PatternSubscriber": "patterns.subscriber",
    "Server": "calls.server.server",
    "current_call": "calls.server.method_call",
}


def __getattr__(name: str) -> typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}._bus.{_LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
