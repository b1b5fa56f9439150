# SPDX-License-Identifier: Apache-2.0
"""One direction of a connection: large messages in pieces, and a bound for bytes that are not confirmed.

A message that is larger than a piece is announced (LARGE) and follows in pieces (PIECE), in order. Every piece is a
sign of life, so that a slow link stays alive during a large message. The sender asks for a confirmation (PING, with the
number of bytes sent) every second piece, and the receiver returns the number (PONG). A PING of 0 is a heartbeat: it
confirms nothing. Unconfirmed bytes are bounded. The rest waits at the sender, which can limit it. Pieces become larger
while confirmations arrive soon, because each piece has a fixed cost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from . import wire

PIECE_BYTES: Final = 32 << 10  # on a slow link, or before its speed is known
MOST_PIECE_BYTES: Final = 512 << 10
MOST_FRAME_BYTES: Final = 1 << 20  # of anything sent at once
_PIECES_A_CONFIRMATION: Final = 2
_SOON_S, _LATE_S = 0.2, 1.0  # for a confirmation
MOST_UNCONFIRMED_BYTES: Final = 4 << 20
_MOST_FRAMES: Final = 4
_MESSAGE_COST: Final = 64  # bytes of memory that a message takes beside its own


def pieces(frames: wire.Frames, size: Callable[[], int] = lambda: PIECE_BYTES) -> Iterator[wire.Frames]:
    """Yield the messages that a message is sent as. size: returns the bytes of the next piece."""
    if sum(map(len, frames)) <= size():
        yield frames
        return
    sizes = [len(frame) for frame in frames]
    yield wire.plain(wire.LARGE, len(sizes), *sizes, *[0] * (_MOST_FRAMES - len(sizes)))
    head = wire.plain(wire.PIECE)[0]
    for frame in frames:
        view, at = memoryview(frame), 0
        while at < len(frame):
            piece = bytes(view[at : at + size()])
            at += len(piece)
            yield [head, piece]


class Outgoing:
    """Messages to send, in order. `send` sends a message at once, or returns False."""

    def __init__(self, send: Callable[[wire.Frames], bool]) -> None:
        self._send = send
        self._waiting: deque[wire.Frames] = deque()
        self._current: Iterator[wire.Frames] = iter(())
        self._next: wire.Frames | None = None
        self._sent = self._confirmed = self._asked = 0
        self._piece_bytes = PIECE_BYTES
        self._timed: tuple[int, float] | None = (
            None  # a count that is to be confirmed, and the time it was sent
        )
        self.replies_bytes = 0  # waiting, of messages that no window bounds

    @property
    def is_idle(self) -> bool:
        """Everything is sent."""
        return self._next is None and not self._waiting

    @property
    def may_send(self) -> bool:
        return self._sent - self._confirmed < MOST_UNCONFIRMED_BYTES

    def put(self, frames: wire.Frames) -> None:
        self._waiting.append(frames)
        self.replies_bytes += _unbounded(frames)

    def confirm(self, number: int) -> None:
        """Note that the other end has received everything up to this number."""
        self._confirmed = max(self._confirmed, min(number, self._sent))
        if self._timed is not None and number >= self._timed[0]:
            took_s = time.monotonic() - self._timed[1]
            self._timed = None
            if took_s < _SOON_S:
                self._piece_bytes = min(self._piece_bytes * 2, MOST_PIECE_BYTES)
            elif took_s > _LATE_S:
                self._piece_bytes = PIECE_BYTES

    def offer(self, frames: wire.Frames) -> bool:
        """Accept a message if no other waits before it."""
        if not self.flush() or not self.is_idle or not self.may_send:
            return False
        self.put(frames)
        self.flush()
        return True

    def flush(self) -> bool:
        """Send as much as is allowed now; return False when `send` refused."""
        while True:
            if self._sent - self._asked >= _PIECES_A_CONFIRMATION * self._piece_bytes:
                if not self._send(wire.plain(wire.PING, self._sent)):
                    return False
                self._asked = self._sent
                self._timed = self._timed or (self._sent, time.monotonic())
            if not self.may_send or not self._advance():
                return True
            assert self._next is not None
            if not self._send(self._next):
                return False
            self._sent += sum(map(len, self._next)) + _MESSAGE_COST
            self._next = next(self._current, None)

    def _advance(self) -> bool:
        if self._next is None and self._waiting:
            frames = self._waiting.popleft()
            self.replies_bytes -= _unbounded(frames)
            self._current = pieces(frames, lambda: self._piece_bytes)
            self._next = next(self._current)
        return self._next is not None


def _unbounded(frames: wire.Frames) -> int:
    return 0 if frames[0][:1] == wire.BATCH else sum(map(len, frames)) + _MESSAGE_COST


class Incoming:
    """Joins the pieces of the one large message that is under way."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._missing: list[int] = []  # sizes of the frames to come, without what has come
        self._frames: list[list[bytes]] = []

    def take(self, frames: list[bytes]) -> wire.Message | None:
        """Return the message that these frames complete, or None. Raise Malformed for impossible frames."""
        message = wire.decode(frames)
        if message.kind == wire.LARGE:
            self._begin(*message.numbers)
            return None
        if message.kind != wire.PIECE:
            return message
        return self._add(message.content)

    def _begin(self, count: int, *sizes: int) -> None:
        if self._missing:
            raise wire.Malformed("a large message inside another one")
        if not PIECE_BYTES < sum(sizes) <= self._most_bytes or count > len(sizes) or any(sizes[count:]):
            raise wire.Malformed(f"a large message of {sum(sizes)} bytes in {count} frames")
        self._missing, self._frames = list(sizes[:count]), [[] for _ in range(count)]

    def _add(self, piece: bytes) -> wire.Message | None:
        at = next((at for at, missing in enumerate(self._missing) if missing), None)
        if at is None or not min(PIECE_BYTES, self._missing[at]) <= len(piece) <= self._missing[at]:
            raise wire.Malformed(f"a piece of {len(piece)} bytes that no message needs")
        self._missing[at] -= len(piece)
        self._frames[at].append(piece)
        if any(self._missing):
            return None
        frames = [b"".join(parts) for parts in self._frames]
        self._missing, self._frames = [], []
        message = wire.decode(frames)
        if message.kind in (wire.LARGE, wire.PIECE):
            raise wire.Malformed("pieces in pieces")
        return message
