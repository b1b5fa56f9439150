# SPDX-License-Identifier: Apache-2.0
"""Answers to clients. Nobody waits here: what a client's ring has no room for is kept, within bounds, and
tried again; beyond the bounds it is dropped, and that client's calls end by their time-outs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from slipring.errors import Full, SlipringError, TooLarge

from . import encoding, names

if TYPE_CHECKING:
    from ..bus import Bus
    from .failures import Failures
    from .job import Job

LARGEST_PIECE = 128 << 10
KEPT_ANSWERS = 64
KEPT_BYTES = 64 << 20
MAX_STREAMS = 64


def pieces(job: Job, value: bytes | memoryview, size: int, *, part: bool) -> Iterator[bytes]:
    """The messages that carry one value."""
    last = encoding.part if part else encoding.result
    total, place = len(value), 0
    view = memoryview(value)
    while total - place > size:
        yield encoding.chunk(job.req_id, total, view[place : place + size])
        place += size
    yield last(job.req_id, view[place:])


class Answer:
    """What is left to be sent of one answer."""

    __slots__ = ("job", "messages", "next", "size")

    def __init__(self, job: Job, messages: Iterator[bytes], size: int) -> None:
        self.job, self.messages, self.size = job, messages, size
        self.next: bytes | None = next(messages)


class Caller:
    """One client, seen from the server."""

    def __init__(self, bus: Bus, service: str, client: str, failures: Failures) -> None:
        self.failures: Final = failures
        topic = names.reply_topic(service, client)
        self.client = client
        self.clock: Final = bus.clock
        self._publisher = bus.publisher(topic, must_exist=True)
        try:
            capacity = bus._tables(topic)["capacity"]
        except SlipringError:
            self._publisher.close()
            raise
        self.piece = min(LARGEST_PIECE, capacity // 8)
        self.open: dict[int, Job] = {}  # calls without an answer
        self.streams = 0
        self.gone = False
        self.dropped = 0
        self.sent = 0
        self._kept: deque[Answer] = deque()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def lives(self) -> bool:
        try:
            return not self.gone and self._publisher._subscribers() > 0
        except SlipringError:
            return False

    def send(self, message: bytes) -> bool:
        """False when there is no room."""
        try:
            self._publisher.send(message, "", 0)
            self.sent += 1
        except Full:
            return False
        except TooLarge:
            self.dropped += 1  # a ring smaller than the protocol allows
        except SlipringError:
            self.gone = True
        return True

    def finish(self, job: Job, message: bytes) -> bool:
        """The whole answer to a call; False if it has to be tried again."""
        self.open.pop(job.req_id, None)
        if job.cancelled:
            return True
        if not self._kept and self.send(message):
            return True
        return self._keep(Answer(job, iter((message,)), len(message)))

    def finish_in_pieces(self, job: Job, value: bytes | memoryview) -> bool:
        self.open.pop(job.req_id, None)
        answer = Answer(job, pieces(job, value, self.piece, part=False), len(value))
        with self._lock:
            alone = not self._kept
        if alone and self._push(answer):
            return True
        return self._keep(answer)

    def _push(self, answer: Answer) -> bool:
        """Send as much as there is room for; True when all of it is gone."""
        while answer.next is not None:
            if answer.job.cancelled:
                return True
            if not self.send(answer.next):
                return False
            answer.next = next(answer.messages, None)
        return True

    def _keep(self, answer: Answer) -> bool:
        with self._lock:
            if len(self._kept) >= KEPT_ANSWERS or self._kept_bytes + answer.size > KEPT_BYTES:
                self.dropped += 1
                return True
            self._kept.append(answer)
            self._kept_bytes += answer.size
        return False

    def retry(self) -> bool:
        """What was kept, once more; True when nothing is left."""
        with self._lock:
            while self._kept:
                if not self.gone and not self._push(self._kept[0]):
                    return False
                self._kept_bytes -= self._kept.popleft().size
        return True

    @property
    def first_kept(self) -> Answer | None:
        return self._kept[0] if self._kept else None

    @property
    def kept(self) -> int:
        return len(self._kept)

    def close(self) -> None:
        self.gone = True
        self._publisher.close()
