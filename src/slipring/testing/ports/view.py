# SPDX-License-Identifier: Apache-2.0
"""sub.view(): the next message, held until the block ends, or until the last slice or array made from it is
gone.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from slipring._bus.closing import Unpicklable
from slipring._bus.settings import timeout_s
from slipring._bus.subscriber import Message
from slipring.errors import Busy, TooManyReaders

from .lent_memory import show

if TYPE_CHECKING:
    from ..ring.reader import Reader
    from .subscriber import SteppedSubscriber

_MAX_VIEWS = 256


class SteppedView(Unpicklable):
    def __init__(self, subscriber: SteppedSubscriber, timeout: float | None) -> None:
        self._subscriber = subscriber
        self._seconds = timeout_s(timeout)
        self._message: Message | None = None
        self._used = False

    def __enter__(self) -> Message | None:
        if self._used:
            raise RuntimeError("a view is used once: ask for another")
        subscriber = self._subscriber
        subscriber._check_open()
        self._used = True
        reader = subscriber._find(self._seconds, "view", _check_can_hold)
        if reader is None:
            return None
        seq = reader.position
        reader.held[seq] += 1

        def ended() -> None:
            reader.held[seq] -= 1
            reader.held += type(reader.held)()  # drops what is not held any longer

        entry = reader.accept()
        body = memoryview(show(entry.body, ended))
        subscriber._note_received(seq)
        self._message = Message(body, entry.sender, entry.type, seq, entry.time_ns, subscriber.topic)
        subscriber._pass_point("held")
        return self._message

    def __exit__(self, *exc: object) -> None:
        message, self._message = self._message, None
        if message is not None and isinstance(message.body, memoryview):
            with suppress(BufferError):  # what was made from it keeps the message held
                message.body.release()


def _check_can_hold(reader: Reader) -> None:
    if reader.index is None:
        text = (
            "this subscriber has no entry in the full reader table, so it cannot hold a message: use recv(),"
        )
        raise TooManyReaders(f"{text} or create the topic with more max_readers=", argument="max_readers")
    if sum(reader.held.values()) >= _MAX_VIEWS:
        raise Busy(f"{_MAX_VIEWS} messages are held already: release some")
