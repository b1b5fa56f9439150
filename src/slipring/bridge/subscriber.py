# SPDX-License-Identifier: Apache-2.0
"""A subscriber on a remote bus, as the program sees it.

subscription.py is how its link sees it, arrivals.py keeps its counts exact, outlet.py is the other side.
"""

from __future__ import annotations

import contextlib
import operator
import time
from typing import TYPE_CHECKING, Any, Self

from slipring._bus.account import Account
from slipring._bus.native import _native
from slipring._bus.settings import timeout_s
from slipring._bus.subscriber import Message
from slipring.errors import BadArgument, Closed, PeerGone, Timeout

from .loan import View
from .subscription import Subscription
from .waits import REMOTE

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Buffer


class RemoteSubscriber(Account, Subscription):
    """As slipring.Subscriber, over a bridge. Made by `Bus.subscriber`."""

    spin_us = 0.0
    _waits = REMOTE

    def _waited(self) -> Self:
        return self

    # Receiving

    def _check(self) -> None:
        if self._closed:
            raise Closed("this subscriber is closed")
        self._link.check_process()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _ready(self) -> bool:
        self._check()
        if not self._arrivals.has_message and self._error is None:
            self._sync()
        if not self._arrivals.has_message:
            self._raise_error()
        return self._arrivals.has_message

    def _wait(self, timeout: float | None) -> bool:
        """Until there is a message."""
        seconds = timeout_s(timeout)
        self._check()
        deadline = None if seconds is None else time.monotonic() + seconds
        if self._conflate or (seconds == 0 and not self._arrivals.has_message):
            self._sync()
        with self._changed:
            while self._arrivals.peek() is None:
                self._check()
                self._raise_error()
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def recv(self, timeout: float | None = None) -> Message | None:
        """The next message, or None on expiry."""
        return self._take(timeout, held=False)

    def recv_held(self, timeout: float | None) -> Message | None:
        """The same, and publishers of a reliable topic wait as if it had not been read, until `release`."""
        return self._take(timeout, held=True)

    def release(self, seq: int) -> None:
        self._link.check_process()
        with self._changed:
            self._held.remove(seq)
        self._acknowledge()

    def _take(self, timeout: float | None, held: bool) -> Message | None:
        while self._wait(timeout):
            with self._changed:
                message = self._arrivals.take()
                if message is not None and held:
                    self._held.append(message.seq)
            if message is not None:
                self._consumed(message)
                return message
        self._acknowledge()
        return None

    def has_something(self) -> bool:
        """A message or an error is here; nobody is asked."""
        return self._arrivals.has_message or self._error is not None or self._closed

    def take_arrived(self) -> Message | None:
        """What is here, without asking the server for more."""
        self._check()
        with self._changed:
            message = self._arrivals.take()
        if message is None:
            self._raise_error()
        else:
            self._consumed(message)
        return message

    _take_here = take_arrived

    def recv_many(self, n: int = 1024, timeout: float | None = 0) -> list[Message]:
        """Up to n messages; waits at most timeout for the first."""
        n = operator.index(n)
        if n < 0:
            raise BadArgument("n must be at least 0", argument="n")
        self._look()  # what is there is what was published before this call, not what comes while it reads
        limit = self._arrivals.tail
        messages: list[Message] = []
        while len(messages) < n and (not messages or self._arrivals.read.position < limit):
            message = self.recv(0 if messages else timeout)
            if message is None:
                break
            if message.seq >= limit:
                limit = self._arrivals.tail  # it was waited for: what came with it
            messages.append(message)
        return messages

    def recv_into(self, buffer: Buffer, timeout: float | None = None) -> Message | None:
        """The next message, its body copied into buffer."""
        _native.check_target(buffer)
        with memoryview(buffer).cast("B") as target:
            if not self._wait(timeout):
                return None
            with self._changed:
                found = self._arrivals.peek()
                if found is not None and len(found.body) > len(target):
                    sizes = f"buffer has {len(target)} bytes, the next message {len(found.body)}"
                    text = f"{sizes}: use a larger buffer"
                    raise BadArgument(text, argument="buffer")
                message = self._arrivals.take()
            if message is None:  # another thread was faster
                return self.recv_into(buffer, timeout)
            size = len(message.body)
            target[:size] = message.body
        self._consumed(message)
        body = memoryview(buffer).cast("B")[:size]
        return Message(body, message.sender, message.type, message.seq, message.time_ns, message.topic)

    def recv_batch(self, n: int = 65536, timeout: float | None = 0) -> pyarrow.RecordBatch:
        """Up to n messages as one Arrow batch; waits at most timeout for the first."""
        from .columns import record_batch

        return record_batch(self.topic, self.recv_many(n, timeout))

    def view(self, timeout: float | None = None) -> View:
        """A context manager: the next message, unusable after exit."""
        return View(self, timeout)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        try:
            message = self.recv(None)
        except Closed:
            raise StopIteration from None
        if message is None:
            raise StopIteration
        return message

    async def arecv(self, timeout: float | None = None) -> Message | None:
        """`recv` for asyncio."""
        from . import aio

        return await aio.receive(self, timeout, self.take_arrived)

    # Place and account

    def _seek(self, start: int, seq: int, /) -> None:
        self._check()
        self._raise_error()
        self._link.request("seek", owner=self, then=self._sought, handle=self.handle, start=start, seq=seq)

    def _sought(self, facts: Any, error: Exception | None) -> None:
        if error is None:
            with self._changed:
                self._arrivals.begin(facts, forget=True)

    def commit(self, seq: int | None = None, /) -> None:
        """Move the cursor to seq, or past everything received."""
        self._check()
        if self._cursor is None:
            raise BadArgument("there is no cursor to commit: subscribe with cursor=", argument="cursor")
        position = self._arrivals.read.position
        if seq is not None and not 0 <= seq <= position:
            raise BadArgument(f"seq={seq} is beyond what was received: at most {position}", argument="seq")
        to = position if seq is None else seq
        self._link.request("commit", owner=self, handle=self.handle, position=to)

    def _look(self) -> None:
        """Ask the server how it stands; what was heard last holds when it cannot be asked."""
        if self._closed or self._error is not None or not self._link.connected:
            return
        with contextlib.suppress(PeerGone, Timeout):
            self._link.request("look", owner=self, then=self._looked, handle=self.handle)

    def _looked(self, facts: Any, error: Exception | None) -> None:
        """In the link's thread: what arrives behind the answer is newer than it."""
        if error is None:
            with self._changed:
                self._arrivals.tail = facts["tail"]
                told = {name: facts[name] for name in ("attached", "entry", "reliable")}
                self._facts = {**self._facts, **told}

    @property
    def attached(self) -> bool:
        """Whether its topic exists."""
        if not self._facts["attached"]:
            self._look()
        return bool(self._facts["attached"])

    def _counts(self) -> tuple[int, int, int, int, int, int, bool]:
        arrivals, facts = self._arrivals, self._facts
        position, lost, filtered = arrivals.read
        entry = -1 if facts["entry"] is None else facts["entry"]
        counts = arrivals.received, lost, filtered + arrivals.conflated, position, arrivals.tail
        return (*counts, entry, facts["reliable"])

    @property
    def lag(self) -> int:
        """How many sequences lie between position and the topic's tail, which the server is asked for."""
        self._look()
        return super().lag

    def stats(self) -> dict[str, Any]:
        """As Subscriber.stats, and whether there is a connection now."""
        self._look()
        return {**super().stats(), "connected": self._link.connected}

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Detach; waits end with Closed."""
        if self._link.is_forked:
            self._closed = True
            return
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self.ring()
        self._leave("unsubscribe")

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._let_go("unsubscribe")
