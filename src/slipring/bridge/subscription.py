# SPDX-License-Identifier: Apache-2.0
"""A remote subscriber as its link sees it: opened, again after each break, told what arrives, acknowledging.

What the program has consumed is acknowledged so that the server sends more. On a reliable topic it is
acknowledged at once, message by message, because publishers wait for it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from slipring._bus.subscriber import Message
from slipring.errors import TopicGone

from . import refusals, wire
from .arrivals import Arrivals
from .desk import Call
from .handles import Handle

if TYPE_CHECKING:
    from slipring._bus.waits import Bell

    from .bus import RemoteBus


class Subscription(Handle):
    """Shared by the program's threads, under `_changed`, and the link's."""

    topic: str

    def __init__(self, bus: RemoteBus, topic: str, opening: dict[str, Any]) -> None:
        self._bells: frozenset[Bell] = frozenset()
        self._bus, self._link = bus, bus._link
        self.topic = topic
        self._held: list[int] = []  # of open views
        self.handle = self._link.number()
        self._changed = threading.Condition(threading.RLock())
        self._arrivals = Arrivals(topic, opening["conflate"])
        self._opening = {"handle": self.handle, "topic": topic, **opening, "resume": None, "generation": None}
        self._cursor: str | None = opening["cursor"]
        self._conflate: bool = opening["conflate"]
        self._error: Exception | None = None
        self._closed = False
        self._opening_again = False  # on a new connection: until it is known from where
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
            self._opening_again = True
            attached = self._facts["attached"]
            resume = self._arrivals.arrived.position if attached else None
            opening = {**self._opening, "resume": resume, "waited": not attached}
            opening["generation"] = self._facts["generation"]
        number = self._link.number()
        frames = wire.with_json(wire.REQUEST, number, content={"request": "subscribe", **opening})
        return Call(number, frames, None, None, self._reopened)

    def _reopened(self, facts: Any, error: Exception | None) -> None:
        with self._changed:
            self._opening_again = False
            if error is not None:
                self._fail(error)
                return
            if not facts["resumed"]:
                self._arrivals.begin(facts, forget=False)
            self._facts = facts
        self._link.desk.ask_again(self)
        self._acknowledge()

    def on_letter(self, letter: wire.Letter) -> None:
        kind, numbers, content = letter
        if self._opening_again:
            return  # from what the server still had of the last connection; what counts comes behind its answer
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
        if kind == wire.BATCH and (self._conflate or (self._keeps and not self._arrivals.has_message)):
            self._acknowledge()
        if kind != wire.SYNCED:
            self.ring()

    def _fail(self, error: Exception) -> None:
        self._error = error
        if isinstance(error, TopicGone):
            # defect bridge_removed_topic_delivered: pass
            self._arrivals.drop()
        self._changed.notify_all()
        self._link.handles.pop(self.handle, None)
        self.ring()

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

    def on_break(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def on_end(self, error: Exception) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()
        self.ring()

    def _sync(self) -> None:
        """Have everything that was published before now, as far as there is room for it."""
        token = self._link.number()
        patience = time.monotonic() + self._link.silence_s
        if not self._link.desk.post(wire.plain(wire.SYNC, self.handle, self._arrivals.epoch, token)):
            return
        with self._changed:
            while self._synced < token and self._link.connected and self._error is None and not self._closed:
                left = patience - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(left)

    @property
    def _keeps(self) -> bool:
        """Whether the ring keeps what is not acknowledged."""
        return bool(self._facts["reliable"]) and self._cursor is None and not self._conflate

    def _consumed(self, message: Message) -> None:
        """Tell the server: at once if publishers wait for that, else now and then."""
        messages, size = self._facts["window"]
        self._unacknowledged += max(1, -(-len(message.body) * messages // size))
        # defect bridge_acknowledged_late: if self._unacknowledged * 2 >= messages or not self._arrivals.has_message:
        if self._keeps or self._unacknowledged * 2 >= messages or not self._arrivals.has_message:
            self._acknowledge()

    def _acknowledge(self) -> None:
        self._unacknowledged = 0
        self._link.desk.acknowledge(self.handle, self._ack)

    def _ack(self) -> wire.Frames:
        with self._changed:
            arrivals = self._arrivals
            position = arrivals.arrived.position if self._conflate else min((arrivals.consumed, *self._held))
            return wire.plain(wire.ACK, self.handle, arrivals.epoch, position)
