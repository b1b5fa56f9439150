# SPDX-License-Identifier: Apache-2.0
"""A subscriber on a remote bus: messages arrive in the link's thread, `on_message`, and the program takes them, `recv`.

What the program has consumed is acknowledged, so that the server sends more: at once on a reliable topic, where
publishers wait for it, else when half of the window is consumed or nothing is left. arrivals.py keeps the counts;
server_subscription.py is the other side.
"""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial
from typing import Any

from slipring._bus.bus import Bus
from slipring._bus.python_handle import Held, PythonSubscriber, refuse_for_room
from slipring._bus.subscriber import Message
from slipring._bus.typed.subscriber_reading import Reading
from slipring._bus.wait import Bell
from slipring.errors import BadArgument, Closed, PeerGone, SlipringError, Timeout, TopicGone

from .. import error_codec, schemas, wire
from .arrivals import Arrivals
from .link import Handle, Link
from .request_queue import Call
from .waits import REMOTE


class RemoteSubscriber(PythonSubscriber, Handle):
    """As slipring.Subscriber, over a bridge. Made by `Bus.subscriber`.

    Shared by the program's threads and the link's, under `_changed`.
    """

    _waits = REMOTE
    _knows_schema = False
    topic: str

    def __init__(self, bus: Bus, link: Link, topic: str, opening: dict[str, Any], reading: Reading) -> None:
        super().__init__(link)
        self._bus = bus  # which closes the link when nothing refers to it
        self.topic = topic
        self._reading = reading
        self._opening = {"handle": self.handle, "topic": topic, **opening, "resume": None, "generation": None}
        self._cursor: str | None = opening["cursor"]
        self._conflate: bool = opening["conflate"]
        self._changed = threading.Condition(threading.RLock())
        self._arrivals = Arrivals(topic, self._conflate)
        self._facts: dict[str, Any] = {}
        self._error: Exception | None = None
        self._closed = False
        self._opening_again = False  # on a new connection: until it is known from where
        self._synced = 0
        self._unacknowledged = 0
        self._sent_schema: tuple[Any] | None = None  # by the server; checked in the program's thread
        self._held: list[int] = []  # sequences of open views
        self._bells: frozenset[Bell] = frozenset()
        self._link.request("subscribe", then=self._opened, **self._opening)
        try:
            self._check_schema()
        except BaseException:
            self.close()
            raise

    # Messages arrive: the link's thread

    def on_message(self, message: wire.Message) -> None:
        kind, numbers, content = message
        if self._opening_again:
            return  # from the last connection; what counts follows the reply
        with self._changed:
            if kind == wire.BATCH:
                self._arrivals.arrive(numbers, content)
            elif kind == wire.SYNCED:
                self._synced = max(self._synced, numbers[2])
            elif kind == wire.ATTACHED:
                self._facts = {**self._facts, **content, "attached": True}
                self._note_schema(content)
            else:
                self._fail(error_codec.from_json(content))
            self._changed.notify_all()
        if kind == wire.BATCH and (self._conflate or (self._keeps and not self._arrivals.has_message)):
            self._acknowledge()
        if kind != wire.SYNCED:
            self._ring()

    def _fail(self, error: Exception) -> None:
        self._error = error
        if isinstance(error, TopicGone):
            # defect bridge_removed_topic_delivered: pass
            self._arrivals.drop()
        self._changed.notify_all()
        self._link.handles.pop(self.handle, None)
        self._ring()

    # The program receives

    def _next(self, seconds: float | None, call: str, room: int | None = None) -> Message | None:
        return self._typed(self._receive(seconds, room=room))

    def _typed(self, found: Message | None) -> Message | None:
        if found is None or self._decoder is None:
            return found
        return self._message(found.body, found.sender, found.type, found.seq, found.time_ns, found.topic)

    def _receive(
        self, seconds: float | None, *, hold: bool = False, room: int | None = None
    ) -> Message | None:
        """hold: until `_release`, publishers of a reliable topic wait as if the message had not been read."""
        self._check_open()
        deadline = None if seconds is None else time.monotonic() + seconds
        if self._conflate or (seconds == 0 and not self._arrivals.has_message):
            self._sync()
        with self._changed:
            while (message := self._arrivals.peek()) is None:
                self._check_open()
                self._raise_error()
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            else:
                self._check_schema()
                if room is not None and len(message.body) > room:
                    refuse_for_room(len(message.body), room)
                self._arrivals.take()
                if hold:
                    self._held.append(message.seq)
        if message is None:
            self._acknowledge()
        else:
            self._consumed(message)
        return message

    def _hold(self, seconds: float | None) -> Held | None:
        """Hold a message in this process's memory. Publishers of a reliable topic wait until it is released."""
        found = self._receive(seconds, hold=True)
        if found is None:
            return None
        body = memoryview(found.body)
        message = self._message(body, found.sender, found.type, found.seq, found.time_ns, found.topic)
        return Held(message, partial(self._release, body, found.seq))

    def _release(self, body: memoryview, seq: int) -> None:
        body.release()
        self._link.check_process()
        with self._changed:
            self._held.remove(seq)
        self._acknowledge()

    def _take_here(self) -> Message | None:
        """Return the next message that is here, without asking the server for more."""
        with self._changed:
            self._check_open()
            message = self._arrivals.take()
        if message is None:
            self._raise_error()
        else:
            self._consumed(message)
        return self._typed(message)

    def _batch_end(self, *, first: bool) -> float:
        if first:
            self._refresh()
        return self._arrivals.tail

    # It is waited for: waits.py

    def _ready(self) -> bool:
        self._check_open()
        if not self._arrivals.has_message and self._error is None:
            self._sync()
        if not self._arrivals.has_message:
            self._raise_error()
        return self._arrivals.has_message

    def has_something(self) -> bool:
        """Whether a message or an error is here; the server is not asked."""
        return self._arrivals.has_message or self._error is not None or self._closed

    def add_bell(self, bell: Bell) -> None:
        """Ring it when something arrives."""
        with self._changed:
            self._bells |= {bell}

    def remove_bell(self, bell: Bell) -> None:
        with self._changed:
            self._bells -= {bell}

    def _ring(self) -> None:
        for bell in self._bells:
            bell.ring()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("this subscriber is closed")
        self._link.check_process()
        self._check_schema()

    def _note_schema(self, facts: dict[str, Any]) -> None:
        """Keep what the server sent when the topic was attached."""
        if self._sent_schema is None:
            self._sent_schema = (facts.get("schema"),)

    def _check_schema(self) -> None:
        """Make the decoder once the topic is attached. A schema that this subscriber cannot read ends it."""
        if self._knows_schema or self._sent_schema is None:
            return
        with self._changed:
            if self._error is not None or self._knows_schema:
                return
            try:
                self._read_schema(schemas.stored(self._sent_schema[0], self.topic))
            except SlipringError as error:
                self._facts = {**self._facts, "attached": False}
                self._arrivals.drop()
                self._fail(error)
                self._link.abandon(self, "unsubscribe")
                raise
            self._knows_schema = True

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    # The flow: acknowledging what was consumed, asking for what is there

    def _consumed(self, message: Message) -> None:
        messages, size = self._facts["window"]
        self._unacknowledged += max(1, -(-len(message.body) * messages // size))
        # defect bridge_acknowledged_late: if self._unacknowledged * 2 >= messages or not self._arrivals.has_message:
        if self._keeps or self._unacknowledged * 2 >= messages or not self._arrivals.has_message:
            self._acknowledge()

    @property
    def _keeps(self) -> bool:
        """Whether the ring keeps what is not acknowledged."""
        return bool(self._facts["reliable"]) and self._cursor is None and not self._conflate

    def _acknowledge(self) -> None:
        self._unacknowledged = 0
        self._link.queue.acknowledge(self.handle, self._ack)

    def _ack(self) -> wire.Frames:
        with self._changed:
            arrivals = self._arrivals
            position = arrivals.arrived.position if self._conflate else min((arrivals.consumed, *self._held))
            return wire.plain(wire.ACK, self.handle, arrivals.epoch, position)

    def _sync(self) -> None:
        """Wait for all messages published before now, as far as the window has room for them."""
        token = self._link.number()
        deadline = time.monotonic() + self._link.silence_s
        if not self._link.queue.put_message(wire.plain(wire.SYNC, self.handle, self._arrivals.epoch, token)):
            return
        with self._changed:
            while self._synced < token and self._link.connected and self._error is None and not self._closed:
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(left)

    # Position and counts

    def _seek(self, start: int, seq: int, /) -> None:
        self._check_open()
        self._raise_error()
        self._link.request("seek", owner=self, then=self._sought, handle=self.handle, start=start, seq=seq)

    def _sought(self, facts: Any, error: Exception | None) -> None:
        if error is None:
            with self._changed:
                self._arrivals.begin(facts, forget=True)
                if "schema" in facts:
                    self._note_schema(facts)

    def commit(self, seq: int | None = None, /) -> None:
        """Move the cursor to seq, or past everything received."""
        self._check_open()
        if self._cursor is None:
            raise BadArgument("there is no cursor to commit: subscribe with cursor=", argument="cursor")
        position = self._arrivals.read.position
        if seq is not None and not 0 <= seq <= position:
            raise BadArgument(f"seq={seq} is beyond what was received: at most {position}", argument="seq")
        to = position if seq is None else seq
        self._link.request("commit", owner=self, handle=self.handle, position=to)

    def _refresh(self) -> None:
        """Ask the server for the tail and the state; what it sent last holds when it cannot be asked."""
        if self._closed or self._error is not None or not self._link.connected:
            return
        with contextlib.suppress(PeerGone, Timeout):
            self._link.request("look", owner=self, then=self._refreshed, handle=self.handle)

    def _refreshed(self, facts: Any, error: Exception | None) -> None:
        """In the link's thread: what arrives after the reply is newer than it."""
        if error is None:
            with self._changed:
                self._arrivals.tail = facts["tail"]
                state = {name: facts[name] for name in ("attached", "entry", "reliable")}
                self._facts = {**self._facts, **state}
                if "schema" in facts:
                    self._note_schema(facts)

    @property
    def attached(self) -> bool:
        """Whether its topic exists."""
        if not self._facts["attached"]:
            self._refresh()
        return bool(self._facts["attached"])

    def _counts(self) -> tuple[int, int, int, int, int, int, bool]:
        arrivals, facts = self._arrivals, self._facts
        position, lost, filtered = arrivals.read
        entry = -1 if facts["entry"] is None else facts["entry"]
        counts = arrivals.received, lost, filtered + arrivals.conflated, position, arrivals.tail
        return (*counts, entry, facts["reliable"])

    @property
    def lag(self) -> int:
        """The number of sequences between position and the topic's tail, which the server reports."""
        self._refresh()
        return super().lag

    def stats(self) -> dict[str, Any]:
        """Return what Subscriber.stats returns, and whether there is a connection now."""
        self._refresh()
        return {**super().stats(), "connected": self._link.connected}

    # Opening, and opening again on another connection: the link's thread

    def _opened(self, facts: Any, error: Exception | None) -> None:
        """Before anything else arrives."""
        if error is not None:
            return
        self._facts = facts
        if facts["attached"]:
            self._note_schema(facts)
        self._arrivals.begin(facts, forget=True)
        self._link.handles[self.handle] = self

    def reopening(self) -> Call:
        with self._changed:
            self._opening_again = True
            attached = self._facts["attached"]
            resume = self._arrivals.arrived.position if attached else None
            opening = {**self._opening, "resume": resume, "waited": not attached}
            opening["generation"] = self._facts["generation"]
        return self._link.reopening_call("subscribe", opening, self._reopened)

    def _reopened(self, facts: Any, error: Exception | None) -> None:
        with self._changed:
            self._opening_again = False
            if error is not None:
                self._fail(error)
                return
            if not facts["resumed"]:
                self._arrivals.begin(facts, forget=False)
            self._facts = facts
            if facts["attached"]:
                self._note_schema(facts)
        self._link.queue.send_again(self)
        self._acknowledge()

    def on_break(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def on_end(self, error: Exception) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()
        self._ring()

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
        self._ring()
        self._link.leave(self, "unsubscribe")

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._link.abandon(self, "unsubscribe")
