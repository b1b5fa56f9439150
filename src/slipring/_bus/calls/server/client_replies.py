# SPDX-License-Identifier: Apache-2.0
"""Replies to clients. No thread waits for a client's room: answers without room are kept, within bounds, and tried
again soon, then ever more rarely while nothing moves. Beyond the bounds they are dropped, and that client's calls end
by their time-outs.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slipring.errors import Full, SlipringError, TooLarge

from .. import envelope, protocol
from .method_call import MethodCall

if TYPE_CHECKING:
    from ..runtime import Bell, Runtime, TopicBus

LARGEST_PIECE = 128 << 10
KEPT_ANSWERS = 64
KEPT_BYTES = 64 << 20


def pieces(call: MethodCall, value: bytes | memoryview, *, part: bool) -> Iterator[bytes]:
    """Yield the messages that carry one value."""
    last = envelope.part if part else envelope.result
    total, start, size = len(value), 0, call.caller.piece
    view = memoryview(value)
    while total - start > size:
        yield envelope.chunk(call.req_id, total, view[start : start + size])
        start += size
    yield last(call.req_id, view[start:])


class _Answer:
    """The unsent rest of one answer."""

    __slots__ = ("call", "messages", "next", "size")

    def __init__(self, call: MethodCall, messages: Iterator[bytes], size: int) -> None:
        self.call, self.messages, self.size = call, messages, size
        self.next: bytes | None = next(messages)


class ClientReplies:
    """One client: its reply topic, its open calls, and the answers that are kept for it."""

    def __init__(self, bus: TopicBus, runtime: Runtime, service: str, client: str, unsent: Unsent) -> None:
        topic = protocol.reply_topic(service, client)
        self.client = client
        self._runtime, self._unsent = runtime, unsent
        self._publisher = bus.publisher(topic, must_exist=True)
        try:
            capacity = bus._tables(topic)["capacity"]
        except SlipringError:
            self._publisher.close()
            raise
        self.piece = min(LARGEST_PIECE, capacity // 8)
        self.open: dict[int, MethodCall] = {}  # calls without an answer
        self.gone = False
        self.dropped = 0
        self.sent = 0
        self._kept: deque[_Answer] = deque()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def lives(self) -> bool:
        try:
            return not self.gone and self._publisher._subscribers() > 0
        except SlipringError:
            return False

    def finish(self, call: MethodCall, message: bytes) -> None:
        """Send the whole answer to a call, or keep it."""
        self.open.pop(call.req_id, None)
        if self._kept or not self.send(message):
            self._keep(_Answer(call, iter((message,)), len(message)))

    def finish_in_pieces(self, call: MethodCall, value: bytes | memoryview) -> None:
        """Send a large value, or keep the rest of it."""
        self.open.pop(call.req_id, None)
        answer = _Answer(call, pieces(call, value, part=False), len(value))
        with self._lock:
            alone = not self._kept
        if not alone or not self._push(answer):
            self._keep(answer)

    def send(self, message: bytes) -> bool:
        """Send a message; return False when there is no room."""
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

    def _push(self, answer: _Answer) -> bool:
        """Send as much as there is room for; return whether nothing is left."""
        while answer.next is not None:
            if answer.call.cancelled:
                return True
            if not self.send(answer.next):
                return False
            answer.next = next(answer.messages, None)
        return True

    def _keep(self, answer: _Answer) -> None:
        with self._lock:
            if len(self._kept) >= KEPT_ANSWERS or self._kept_bytes + answer.size > KEPT_BYTES:
                self.dropped += 1
                return
            self._kept.append(answer)
            self._kept_bytes += answer.size
        self._unsent.keep(self)

    def retry(self) -> bool:
        """Send the kept answers; return whether nothing is left."""
        with self._lock:
            while self._kept:
                if not self.gone and not self._push(self._kept[0]):
                    return False
                self._kept_bytes -= self._kept.popleft().size
        return True

    def has_room(self, message: bytes) -> bool:
        return self._runtime.has_room(self._publisher, message)

    @property
    def first_kept(self) -> _Answer | None:
        return self._kept[0] if self._kept else None

    @property
    def kept(self) -> int:
        return len(self._kept)

    def close(self) -> None:
        self.gone = True
        self._publisher.close()


class Unsent:
    """All clients and streams of a server that wait for room, and when they are tried again."""

    def __init__(self, bell: Bell, retries_s: tuple[float, float]) -> None:
        self._bell = bell  # wakes the dispatcher, which waits less long from now on
        self._lock = threading.Lock()
        self._clients: set[ClientReplies] = set()  # with kept answers
        self._streams: list[MethodCall] = []  # that stopped for want of room
        self._tried = 0.0
        self._sent = 0
        self._first_s, self._last_s = retries_s  # the first retry, and the slowest, while nothing moves
        self._retry_s = self._first_s
        self.patience = math.inf  # how long the dispatcher may wait before it tries again

    def keep(self, client: ClientReplies) -> None:
        """Note that answers were kept for this client."""
        with self._lock:
            self._clients.add(client)
            first = self._retry_soon()
        if first:
            self._bell.ring()

    def suspend(self, call: MethodCall) -> None:
        """Note that this call's stream has no room."""
        with self._lock:
            self._streams.append(call)
            first = self._retry_soon()
        if first:
            self._bell.ring()

    def _retry_soon(self) -> bool:
        """Shorten the patience; return whether nothing waited until now. Called with the lock."""
        first = self.patience == math.inf
        self.patience = self._retry_s
        return first

    def can_continue(self) -> bool:
        """Return whether a retry would send a message, or end an answer that is not needed any more."""
        with self._lock:
            kept = [client.first_kept for client in self._clients]
            streams = [(call, call.stream.next) for call in self._streams if call.stream]
        if None in kept:
            return True  # it is sent already
        first = [(answer.call, answer.next) for answer in kept if answer]
        return any(call.cancelled or call.caller.has_room(next or b"") for call, next in [*first, *streams])

    def due(self, now: float) -> bool:
        return now - self._tried >= self.patience

    def retry(self, now: float, sent: int) -> list[MethodCall]:
        """Send the kept answers and return the calls whose streams are to be run. `sent` grows when anything moves."""
        moved, self._sent, self._tried = sent != self._sent, sent, now
        self._retry_s = self._first_s if moved else min(2 * self._retry_s, self._last_s)
        with self._lock:
            clients, streams = list(self._clients), self._streams
            self._streams = []
        done = [client for client in clients if client.retry()]
        with self._lock:
            self._clients.difference_update(client for client in done if not client.kept)
            self.patience = self._retry_s if self._clients or self._streams else math.inf
        return streams
