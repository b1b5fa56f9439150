# SPDX-License-Identifier: Apache-2.0
"""A subscriber on a remote bus: arrivals.py keeps its counts exact, outlet.py is the other side."""

from __future__ import annotations

import contextlib
import operator
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from slipring._bus.account import Account
from slipring._bus.settings import timeout_s
from slipring._bus.subscriber import Message
from slipring.errors import BadArgument, Closed, PeerGone, Timeout

from . import refusals, wire
from .arrivals import Arrivals
from .handles import Handle
from .link import Call
from .loan import View
from .waits import REMOTE, Bell

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import Buffer

    from .bus import RemoteBus


class RemoteSubscriber(Account, Handle):
    """As slipring.Subscriber, over a bridge. Made by `Bus.subscriber`."""

    spin_us = 0.0
    _waits = REMOTE

    def __init__(self, bus: RemoteBus, topic: str, opening: dict[str, Any]) -> None:
        self._bells: frozenset[Bell] = frozenset()
        self._bus, self._link = bus, bus._link
        self.topic = topic
        self.handle = self._link.number()
        self._changed = threading.Condition()
        self._arrivals = Arrivals(topic, opening["conflate"])
        self._opening = {"handle": self.handle, "topic": topic, **opening, "resume": None, "generation": None}
        self._cursor: str | None = opening["cursor"]
        self._conflate: bool = opening["conflate"]
        self._error: Exception | None = None
        self._closed = False
        self._synced = 0
        self._unacknowledged = 0
        self._facts: dict[str, Any] = {}
        self._link.request("subscribe", then=self._opened, **self._opening)

    # For the link

    def _opened(self, facts: Any, error: Exception | None) -> None:
        """In the link's thread, before anything else arrives."""
        if error is not None:
            return
        self._facts = facts
        self._arrivals.begin(facts, forget=True)
        self._link.handles[self.handle] = self

    def reopening(self) -> Call | None:
        with self._changed:
            attached = self._facts["attached"]
            resume = self._arrivals.arrived.position if attached else None
            opening = {**self._opening, "resume": resume, "waited": not attached}
            opening["generation"] = self._facts["generation"]
        number = self._link.number()
        frames = wire.with_json(wire.REQUEST, number, content={"request": "subscribe", **opening})
        return Call(number, frames, None, None, self._reopened)

    def _reopened(self, facts: Any, error: Exception | None) -> None:
        with self._changed:
            if error is not None:
                self._fail(error)
                return
            if not facts["resumed"]:
                self._arrivals.begin(facts, forget=False)
            self._facts = facts
        self._link.ask_again(self)
        self._acknowledge()

    def on_letter(self, letter: wire.Letter) -> None:
        kind, numbers, content = letter
        with self._changed:
            if kind == wire.BATCH:
                self._arrivals.arrive(numbers, content)
            elif kind == wire.SYNCED:
                self._synced = max(self._synced, numbers[2])
            elif kind == wire.ATTACHED:
                self._facts = {**self._facts, **content, "attached": True}
            else:
                self._fail(refusals.from_json(content))
            self._changed.notify_all()
        if kind == wire.BATCH and self._conflate:
            self._acknowledge()
        if kind != wire.SYNCED:
            self.ring()

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._changed.notify_all()
        self._link.handles.pop(self.handle, None)

    def add_bell(self, bell: Bell) -> None:
        """Ring it when something arrives."""
        with self._changed:
            self._bells |= {bell}

    def remove_bell(self, bell: Bell) -> None:
        with self._changed:
            self._bells -= {bell}

    def ring(self) -> None:
        for bell in self._bells:
            bell.ring()

    def _waited(self) -> Self:
        return self

    def on_break(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def on_end(self, error: Exception) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()
        self.ring()

    # Receiving

    def _check(self) -> None:
        if self._closed:
            raise Closed("this subscriber is closed")
        self._link.check_process()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _sync(self) -> None:
        """Have everything that was published before now, as far as there is room for it."""
        token = self._link.number()
        patience = time.monotonic() + self._link.silence_s
        if not self._link.post(wire.plain(wire.SYNC, self.handle, self._arrivals.epoch, token)):
            return
        with self._changed:
            while self._synced < token and self._link.connected and self._error is None and not self._closed:
                left = patience - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(left)

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
        while self._wait(timeout):
            with self._changed:
                message = self._arrivals.take()
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

    def recv_many(self, n: int = 1024, timeout: float | None = 0) -> list[Message]:
        """Up to n messages; waits at most timeout for the first."""
        n = operator.index(n)
        if n < 0:
            raise BadArgument("n must be at least 0", argument="n")
        messages: list[Message] = []
        while len(messages) < n:
            message = self.recv(0 if messages else timeout)
            if message is None:
                break
            messages.append(message)
        return messages

    def recv_into(self, buffer: Buffer, timeout: float | None = None) -> Message | None:
        """The next message, its body copied into buffer."""
        with memoryview(buffer).cast("B") as target:
            if target.readonly:
                raise BufferError("buffer is read-only")
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

        return await aio.receive(self, timeout)

    def _consumed(self, message: Message) -> None:
        """Tell the server now and then, so that it sends more."""
        messages, size = self._facts["window"]
        self._unacknowledged += max(1, -(-len(message.body) * messages // size))
        if self._unacknowledged * 2 >= messages or not self._arrivals.has_message:
            self._acknowledge()

    def _acknowledge(self) -> None:
        self._unacknowledged = 0
        arrivals = self._arrivals
        position = arrivals.arrived.position if self._conflate else arrivals.read.position
        self._link.post(wire.plain(wire.ACK, self.handle, arrivals.epoch, position))

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
            facts = self._link.request("look", owner=self, handle=self.handle)
            self._arrivals.tail = facts["tail"]
            self._facts = {**self._facts, **{name: facts[name] for name in ("attached", "entry", "reliable")}}

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
