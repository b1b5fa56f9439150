# SPDX-License-Identifier: Apache-2.0
"""Publishing exactly once for others, whatever is killed.

An *origin* is a stream that is passed on into a topic: a remote publisher, a mirrored topic, a Spark query.
Its messages are numbered, and the numbers grow. Each origin has a small file with its progress, which the core
writes between the claim of a message's sequence and the commit that makes the message readable:

    progress before  number, count, lost, seq
    progress after   number, count, lost, seq      seq is the sequence just claimed

Killed before this write: the claim is abandoned, and the file has the previous progress. Killed after it: the file
names the sequence, and the ring keeps whether that sequence became a message. So the next process knows exactly which
number was published last, and recognises messages that are sent again.

The file is locked while the origin is in use. It belongs to one generation of its topic.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import struct
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final

from slipring.errors import Busy, NoSpace, PeerGone, SlipringError, SystemFault

from ..directory import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..bus import Bus
    from ..publisher import Publisher

_MAGIC: Final = b"SLRLEDG1"
_NOTE = struct.Struct("<8s4Q4Q")
_SEQ_AT: Final = _NOTE.size - 8
_ABOUT_AT: Final = 128  # JSON about the origin, behind the note
_MOST_BYTES: Final = 65536
_LOOKS: Final = 1000
Column = tuple[Any, Any, int, int]  # of Arrow: its bytes, its 32-bit offsets, the first value and how many


@dataclass(frozen=True)
class Progress:
    """How far an origin has come: last number, messages published, messages lost before, last sequence."""

    number: int = 0
    count: int = 0
    lost: int = 0
    seq: int = 0


def _path(directory: str, topic: str, origin: str) -> str:
    return os.path.join(directory, f"{topic}.{hashlib.sha256(origin.encode()).hexdigest()[:32]}")


def was_committed(bus: Bus, topic: str, seq: int) -> bool:
    """Return whether a sequence became a message, even if it is overwritten by now.

    A reader that starts at it and one that starts behind it keep exact counts. At the same position these differ by
    one exactly if the sequence became a message.
    """
    for _ in range(_LOOKS):
        accounts = []
        for start in (seq, seq + 1):
            with bus.subscriber(topic, start=start, lossy=True) as sub:
                first = sub.recv(0)
                if start == seq and first is not None and first.seq == seq:
                    return True
                accounts.append((sub.position, sub.received + sub.lost))
        (here, with_it), (there, without) = accounts
        if here == there:
            return with_it != without
    raise PeerGone(f"topic {topic!r} moves too fast to find out whether sequence {seq} was published")


def lock(path: str) -> int:
    """Open a file, created when missing, and lock it; return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:  # else another process removed it between opening and locking
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise
        os.close(descriptor)


class Origin:
    """One origin's publisher on a topic of this host."""

    def __init__(
        self, bus: Bus, topic: str, origin: str, *, directory: str, sender: str = "", **settings: Any
    ) -> None:
        self.topic, self.origin = topic, origin
        self._path = _path(directory, topic, origin)
        self.publisher: Publisher = bus.publisher(topic, sender, **settings)
        self._descriptor = -1
        try:
            facts = bus.stats(topic)
            self.generation, self.reliable = str(facts["generation"]), facts["delivery"] == "reliable"
            os.makedirs(directory, mode=0o700, exist_ok=True)
            self._descriptor = lock(self._path)
            self.progress = self._recover(bus)
        except BaseException as error:
            self._release()
            if isinstance(error, BlockingIOError):
                text = f"{origin} is already being published to topic {topic!r} by another process"
                raise Busy(text, argument="name") from None
            if isinstance(error, OSError) and not isinstance(error, SlipringError):
                raise _fault(error) from None
            raise

    def _recover(self, bus: Bus) -> Progress:
        note = os.pread(self._descriptor, _NOTE.size, 0)
        about = _about(os.pread(self._descriptor, _MOST_BYTES, _ABOUT_AT))
        self.upstream: list[str] = about.get("upstream", [])
        known = len(note) == _NOTE.size and note.startswith(_MAGIC)
        if not known or about.get("generation") != self.generation:
            os.ftruncate(self._descriptor, 0)
            self.tell_upstream([])
            return Progress()
        _, *numbers = _NOTE.unpack(note)
        before, after = Progress(*numbers[:4]), Progress(*numbers[4:])
        # defect uncommitted_send_counts: if True:
        if after == Progress() or was_committed(bus, self.topic, after.seq):
            return after
        return before

    def tell_upstream(self, upstream: Iterable[str]) -> None:
        """Store where this origin's messages come from, for the check for cycles."""
        self.upstream = sorted(upstream)
        about = {
            "origin": self.origin,
            "topic": self.topic,
            "generation": self.generation,
            "upstream": self.upstream,
        }
        text = json.dumps(about).encode()
        try:
            if os.pwrite(self._descriptor, text, _ABOUT_AT) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.ftruncate(self._descriptor, _ABOUT_AT + len(text))
        except OSError as error:
            raise _fault(error) from None

    def send(self, number: int, body: Any, type: str, sender: str, time_ns: int, lost: int = 0) -> int:
        """Publish a message unless its number was published before; return the sequence. Never waits: raises Full."""
        # defect repeated_send_published_again: if number < 0:
        if number <= self.progress.number:
            return self.progress.seq
        after = (number, self.progress.count + 1, lost)
        before = self.progress
        note = _NOTE.pack(_MAGIC, before.number, before.count, before.lost, before.seq, *after, 0)
        seq = self.publisher._send_precommit(body, type, sender, time_ns, self._descriptor, note, _SEQ_AT)
        self.progress = Progress(*after, seq)
        return seq

    def send_rows(self, number: int, column: Column, type: str, sender: str) -> int:
        """Publish a column's values, numbered from `number` on, without those that were published before.

        Return how many are done: fewer than there are when there is no room. Never waits."""
        data, offsets, first, count = column
        # defect sink_row_published_again: passed = 0
        passed = min(count, max(0, self.progress.number - number + 1))
        if passed == count:
            return count
        before, number = self.progress, number + passed
        note = _NOTE.pack(_MAGIC, *astuple(before), number, before.count + 1, 0, 0)
        rest = (data, offsets, first + passed, count - passed, type, sender)
        sent, seq = self.publisher._send_rows_precommit(*rest, self._descriptor, note)
        if sent:
            self.progress = Progress(number + sent - 1, before.count + sent, 0, seq)
        return int(passed + sent)

    def close(self, forget: bool = False) -> None:
        """Stop publishing; forget=True removes its file, too."""
        if self._descriptor < 0:
            return
        self.publisher.close()
        if forget:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
        self._release()

    def _release(self) -> None:
        self.publisher.close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _fault(error: OSError) -> NoSpace | SystemFault:
    number = error.errno or 0
    cls = NoSpace if number == errno.ENOSPC else SystemFault
    return cls(f"cannot write the progress of an origin: {error}", argument="state", errno=number)


def _about(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def origins(directory: str, topic: str | None = None) -> list[dict[str, Any]]:
    """Return the name, topic, generation and upstream of every origin."""
    found = []
    for name in listed(directory):
        if topic is None or name.startswith(f"{topic}."):
            with contextlib.suppress(OSError), open(os.path.join(directory, name), "rb") as file:
                file.seek(_ABOUT_AT)
                about = _about(file.read(_MOST_BYTES))
                if topic is None or about.get("topic") == topic:
                    found.append({**about, "file": name})
    return found
