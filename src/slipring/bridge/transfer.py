# SPDX-License-Identifier: Apache-2.0
"""One direction of a connection: large messages in pieces, and never more under way than was confirmed.

A message above PIECE_BYTES is announced (L) and follows in pieces (D), in order; so every few kilobytes are a
sign of life, on the slowest link, and what keeps a connection alive need not wait for a whole message. The
sender asks for a confirmation (I with the number of bytes sent) every CONFIRM_BYTES, the receiver returns the
number (O): what was sent and not confirmed is bounded, and the rest waits with the sender, who can see that it
grows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from . import wire

PIECE_BYTES: Final = 32 << 10
MOST_FRAME_BYTES: Final = 64 << 10  # of anything sent at once
CONFIRM_BYTES: Final = 64 << 10
MOST_UNCONFIRMED_BYTES: Final = 4 << 20
_MOST_FRAMES: Final = 4
_MESSAGE_COST: Final = 64  # bytes of memory that a message takes beside its own


def pieces(frames: wire.Frames) -> Iterator[wire.Frames]:
    """A message as what is sent of it, one after the other."""
    if sum(map(len, frames)) <= PIECE_BYTES:
        yield frames
        return
    sizes = [len(frame) for frame in frames]
    yield wire.plain(wire.LARGE, len(sizes), *sizes, *[0] * (_MOST_FRAMES - len(sizes)))
    head = wire.plain(wire.PIECE)[0]
    for frame in frames:
        view = memoryview(frame)
        for at in range(0, len(frame), PIECE_BYTES):
            yield [head, bytes(view[at : at + PIECE_BYTES])]


class Outgoing:
    """Messages to send, in order. `send` takes what goes out at once, and says False when it does not."""

    def __init__(self, send: Callable[[wire.Frames], bool]) -> None:
        self._send = send
        self._waiting: deque[wire.Frames] = deque()
        self._current: Iterator[wire.Frames] = iter(())
        self._next: wire.Frames | None = None
        self._sent = self._confirmed = self._asked = 0
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
        """The other end has got everything up to this number."""
        self._confirmed = max(self._confirmed, min(number, self._sent))

    def offer(self, frames: wire.Frames) -> bool:
        """Take a message on if nothing waits before it."""
        if not self.flush() or not self.is_idle or not self.may_send:
            return False
        self.put(frames)
        self.flush()
        return True

    def flush(self) -> bool:
        """Send what may be sent now; False: `send` did not take all of it."""
        while True:
            if self._sent - self._asked >= CONFIRM_BYTES:
                if not self._send(wire.plain(wire.PING, self._sent)):
                    return False
                self._asked = self._sent
            if not self.may_send or not self._advance():
                return True
            assert self._next is not None
            if not self._send(self._next):
                return False
            self._sent += sum(map(len, self._next)) + _MESSAGE_COST
            self._next = None

    def _advance(self) -> bool:
        if self._next is None:
            self._next = next(self._current, None)
        if self._next is None and self._waiting:
            frames = self._waiting.popleft()
            self.replies_bytes -= _unbounded(frames)
            self._current = pieces(frames)
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

    def take(self, frames: list[bytes]) -> wire.Letter | None:
        """The message that is complete with this, if one is; Malformed for what cannot be."""
        letter = wire.decode(frames)
        if letter.kind == wire.LARGE:
            self._begin(*letter.numbers)
            return None
        if letter.kind != wire.PIECE:
            return letter
        return self._add(letter.content)

    def _begin(self, count: int, *sizes: int) -> None:
        if self._missing:
            raise wire.Malformed("a large message inside another one")
        if not PIECE_BYTES < sum(sizes) <= self._most_bytes or count > len(sizes) or any(sizes[count:]):
            raise wire.Malformed(f"a large message of {sum(sizes)} bytes in {count} frames")
        self._missing, self._frames = list(sizes[:count]), [[] for _ in range(count)]

    def _add(self, piece: bytes) -> wire.Letter | None:
        at = next((at for at, missing in enumerate(self._missing) if missing), None)
        if at is None or len(piece) != min(PIECE_BYTES, self._missing[at]):
            raise wire.Malformed(f"a piece of {len(piece)} bytes that belongs to nothing")
        self._missing[at] -= len(piece)
        self._frames[at].append(piece)
        if any(self._missing):
            return None
        frames = [b"".join(parts) for parts in self._frames]
        self._missing, self._frames = [], []
        letter = wire.decode(frames)
        if letter.kind in (wire.LARGE, wire.PIECE):
            raise wire.Malformed("pieces in pieces")
        return letter
