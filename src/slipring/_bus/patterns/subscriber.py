# SPDX-License-Identifier: Apache-2.0
"""PatternSubscriber: all topics whose names match a pattern, those that appear later too, in one handle.

patterns/topics.py keeps the list of these topics; each is a part with an ordinary subscriber. Parts take turns, with at
most `_BURST` messages in a row from each: a busy topic does not starve the others, and within a topic the order is
that of the topic. New topics are searched whenever there is nothing to receive.
"""

from __future__ import annotations

import collections.abc
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn, SupportsIndex, TypeVar

from slipring.errors import (
    BadArgument,
    Closed,
    ForkedHandle,
    SlipringError,
    TopicGone,
)

from .. import batches
from ..python_handle import Held, PythonSubscriber
from ..settings import natural, start_word, timeout_s
from .topics import DAMAGED, Part, PatternTopics

if TYPE_CHECKING:
    import asyncio

    import pyarrow
    from typing_extensions import Buffer

    from ..bus import Bus
    from ..subscriber import Message, Subscriber
    from ..typed.columns import Columns

T = TypeVar("T")
Sized = TypeVar("Sized", bound=collections.abc.Sized)
Take = Callable[["Subscriber"], T | None]
Check = Callable[[], object] | None

_BURST = 64
_MOMENT_S = 0.001


def _of_each_topic(argument: str, value: object, hint: str) -> BadArgument:
    text = f"{argument}={value!r}: a pattern has a sequence for each topic; {hint}, or subscribe to one topic"
    return BadArgument(text, argument=argument)


class PatternSubscriber(PythonSubscriber):
    """Receives the messages of every topic that matches a pattern. Made by `Bus.subscriber("cam.*")`.

    `topic` is the pattern, `topics` are the topics that match now; `Message.topic` is the topic of each message."""

    def __init__(
        self,
        bus: Bus,
        pattern: str,
        start: str | SupportsIndex,
        subscribe: Callable[[str, str | int], Subscriber],
    ) -> None:
        if not isinstance(start, str):
            raise _of_each_topic("start", start, "start with a word")
        start_word(start)
        self.topic = pattern
        self._bus = bus
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._found = PatternTopics(bus, pattern, subscribe)
        self._parts: Final = self._found.parts
        self._turn = self._burst = 0
        self._closed = False
        self._found.look(start)

    # Receiving

    @property
    def topics(self) -> list[str]:
        """The topics that it reads now, sorted."""
        with self._entered():
            self._found.look()
            return sorted(part.topic for part in self._parts)

    def _locked(self) -> contextlib.AbstractContextManager[Any]:
        """Return the lock, for `with`. A forked child may have inherited it locked."""
        if self._pid != os.getpid():
            raise ForkedHandle("this subscriber was opened before fork(): open a new one in the child")
        return self._lock

    def _entered(self) -> contextlib.AbstractContextManager[Any]:
        """Return the lock; raise Closed when the handle is closed."""
        if self._closed:
            raise Closed("this subscriber is closed")
        return self._locked()

    def _check_open(self) -> None:
        self._entered()

    def _ask(self, part: Part, take: Take[T]) -> T | None:
        """Take from one part; return None if it has nothing, or was dropped."""
        try:
            taken = take(part.subscriber)
        except TopicGone:
            self._found.drop(part)
            return None
        except DAMAGED as error:
            self._found.give_up(part, error)
            return None
        if taken is None and part.leaving:
            self._found.drop(part)
        return taken

    def _in_turns(self) -> Iterator[Part]:
        """Yield every part once, beginning with the one whose turn it is; each may be dropped meanwhile."""
        first = self._turn % len(self._parts) if self._parts else 0
        yield from (self._parts[first:] + self._parts[:first])

    def _one(self, take: Take[T], check: Check = None) -> T | None:
        if check is not None:
            check()
        for part in self._in_turns():
            taken = self._ask(part, take)
            if taken is not None:
                self._burst += 1
                if self._burst < _BURST:
                    return taken
            self._burst = 0
            self._turn += 1
            if taken is not None:
                self._look_now_and_then()
                return taken
        return None

    def _look_now_and_then(self) -> None:
        """Search for new topics also when there is always a message to receive."""
        if self._bus.clock.monotonic() - self._found.looked >= self._bus._look_every_s:
            self._found.look()

    def _try(self, take: Take[T], check: Check = None) -> T | None:
        """Take from the part whose turn it is; never waits. check: raises before anything is taken."""
        with self._entered():
            self._raise_errors()
            taken = self._one(take, check)
            if taken is None:
                before = self._parts[:]
                self._found.look()
                if self._parts != before:
                    taken = self._one(take, check)
                if taken is None:
                    self._raise_errors()
            return taken

    def _raise_errors(self) -> None:
        if self._found.errors:
            raise self._found.errors.popleft()

    def _receive(self, seconds: float | None, take: Take[T], check: Check = None) -> T | None:
        clock = self._bus.clock
        deadline = None if seconds is None else clock.monotonic() + seconds
        while (taken := self._try(take, check)) is None:
            left = None if deadline is None else deadline - clock.monotonic()
            if left is not None and left <= 0:
                return None
            self._sleep(left)
        return taken

    def _next(self, seconds: float | None, call: str, room: int | None = None) -> Message | None:
        return self._receive(seconds, lambda part: part.recv(0))

    def _take_here(self) -> Message | None:
        return self._try(lambda part: part.recv(0))

    def _hold(self, seconds: float | None) -> Held | None:
        return self._receive(seconds, _hold_of)

    def recv_into(self, buffer: Buffer, timeout: float | None = None) -> Message | None:
        """Return the next message of any of the topics, its body copied into buffer, or None after timeout seconds."""
        return self._receive(timeout_s(timeout), lambda part: part.recv_into(buffer, 0))

    def recv_many(self, n: SupportsIndex = 1024, timeout: float | None = 0) -> list[Message]:
        """Return up to n messages; wait at most timeout seconds for the first."""
        limit, taken = natural("n", n), []
        if limit == 0:
            self._entered()
            return []
        for messages in self._gather(limit, timeout, lambda part, left: part.recv_many(left, 0)):
            taken += messages
        return taken

    def _batch(self, n: SupportsIndex, timeout: float | None) -> pyarrow.RecordBatch:
        return batches.joined(self._gather_batches(n, timeout, lambda part, left: part.recv_batch(left, 0)))

    def _gather_batches(
        self,
        n: SupportsIndex,
        timeout: float | None,
        take: Callable[[Subscriber, int], pyarrow.RecordBatch],
        check: Check = None,
    ) -> list[pyarrow.RecordBatch]:
        batches.pyarrow()  # before anything is taken
        limit = natural("n", n)
        self._entered()
        return self._gather(limit, timeout, take, check) if limit else []

    def _decoded(self, n: SupportsIndex, timeout: float | None) -> tuple[pyarrow.RecordBatch, int]:
        from ..typed import columns

        raw: list[tuple[Columns | None, pyarrow.RecordBatch]] = []

        def take(part: Subscriber, left: int) -> pyarrow.RecordBatch:
            batch = part.recv_batch(left, 0)
            if batch.num_rows:
                raw.append((part._columns(), batch))
            return batch

        self._gather_batches(n, timeout, take, self._check_columns)
        first = None if raw else self._columns()
        batch = batches.joined(columns.decoded(raw), None if first is None else first.schema)
        return batch, sum(each.num_rows for _, each in raw)

    def _check_columns(self) -> Columns | None:
        """Return the columns of the first topic; SchemaMismatch if another topic has other columns."""
        from ..typed.columns import check_equal

        every: list[tuple[str, Columns | None]] = []
        for part in self._parts[:]:
            try:
                every.append((part.topic, part.subscriber._columns()))
            except DAMAGED as error:
                self._found.give_up(part, error)
        for other in every[1:]:
            check_equal(self.topic, every[0], other)
        return every[0][1] if every else None

    def _columns(self) -> Columns | None:
        with self._entered():
            return self._check_columns()

    def _gather(
        self,
        limit: int,
        timeout: float | None,
        take: Callable[[Subscriber, int], Sized],
        check: Check = None,
    ) -> list[Sized]:
        """Take from the parts in turns, at most `limit` in all. check: raises when the parts do not go together."""
        gathered: list[Sized] = []
        left = limit

        def some(part: Subscriber) -> Sized | None:
            nonlocal left
            taken = take(part, left)
            left -= len(taken)
            return taken if len(taken) else None

        first = self._receive(timeout_s(timeout), some, check)
        if first is None:
            return []
        gathered.append(first)
        with (
            contextlib.suppress(SlipringError),
            self._entered(),
        ):  # the next call meets it; nothing taken is lost
            self._turn, self._burst = self._turn + 1, 0
            if check is not None:
                check()
            for part in self._in_turns():
                if left == 0:
                    break
                more = self._ask(part, some)
                if more is not None:
                    gathered.append(more)
        return gathered

    # Waiting

    def _subscribers(self) -> tuple[Subscriber, ...]:
        with self._entered():
            return tuple(part.subscriber for part in self._parts)

    def _slice(self, left: float | None) -> float:
        every = self._bus._look_every_s
        return every if left is None else min(left, every)

    def _sleep(self, left: float | None) -> None:
        """Sleep until one of the topics may have a message, or it is time to search for new ones."""
        subscribers, seconds = self._subscribers(), self._slice(left)
        if not subscribers:
            self._bus.clock.sleep(seconds)
            return
        try:
            subscribers[0]._waits.sleep(subscribers, seconds)
        except (ForkedHandle, Closed):
            self._entered()  # raises if this handle was closed; else another thread has dropped a part
        except SlipringError:
            self._find_failed(subscribers)

    def _find_failed(self, subscribers: tuple[Subscriber, ...]) -> None:
        """Find the subscriber that ended the sleep of all with an error, which recv may not raise."""
        for subscriber in subscribers:
            try:
                subscriber._waits.sleep((subscriber,), _MOMENT_S)
            except SlipringError as error:
                self._note(subscriber, error)

    def _note(self, subscriber: Subscriber, error: SlipringError) -> None:
        with self._entered():
            for part in [part for part in self._parts if part.subscriber is subscriber]:
                if isinstance(error, TopicGone):
                    part.leaving = True
                elif isinstance(error, DAMAGED):
                    self._found.give_up(part, error)
                else:
                    self._found.errors.append(error)

    def _ready(self) -> bool:
        """Return whether recv(0) would return a message or raise."""
        with self._entered():
            self._found.look()
            return bool(self._found.errors) or any(part.subscriber._ready() for part in self._parts)

    def _waited(self) -> NoReturn:
        raise TypeError(
            "wait() takes subscribers of one topic: a PatternSubscriber waits for several by itself, in recv()"
        )

    async def _until(self, timeout: float | None, take: Callable[[], T | None]) -> T | None:
        import asyncio  # slow to import, and most programs do without

        if not self._bus._awaits_patterns:
            raise BadArgument(
                f"asyncio cannot await a pattern on {self._bus!r}: use recv in a thread", argument="topic"
            )
        seconds, loop = timeout_s(timeout), asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        tasks: dict[Subscriber, asyncio.Task[Any]] = {}
        try:
            while (taken := take()) is None:
                left = None if deadline is None else deadline - loop.time()
                if left is not None and left <= 0:
                    return None
                await self._await_parts(tasks, self._slice(left))
            return taken
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _await_parts(self, tasks: dict[Subscriber, asyncio.Task[Any]], seconds: float) -> None:
        """Sleep until one of the parts may have a message: one task waits for each of them."""
        import asyncio

        subscribers = self._subscribers()
        for subscriber in subscribers:
            if subscriber not in tasks:
                tasks[subscriber] = asyncio.ensure_future(_until_ready(subscriber))
        if not tasks:
            await asyncio.sleep(seconds)
            return
        await asyncio.wait(tasks.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for subscriber in [one for one, task in tasks.items() if task.done()]:
            error = tasks.pop(subscriber).exception()
            if isinstance(error, SlipringError) and not self._closed:
                self._note(subscriber, error)

    # Place and account

    def seek(self, start: str | SupportsIndex) -> None:
        """Move to "new", "last" or "oldest" in every topic. A sequence has no meaning for several topics."""
        if not isinstance(start, str):
            raise _of_each_topic("start", start, "seek to a word")
        start_word(start)
        with self._entered():
            for part in self._parts:
                part.subscriber.seek(start)

    def commit(self, seq: int | None = None, /) -> None:
        """Move the cursor of every topic behind the last message received from it."""
        if seq is not None:
            raise _of_each_topic("seq", seq, "commit() without one commits what was received")
        with self._entered():
            for part in self._parts:
                part.subscriber.commit()

    def _counts(self) -> tuple[int, int, int, int, int, int, bool]:
        """Return sums; the difference of position and tail is the lag."""
        with self._locked():
            every = [part.subscriber._counts() for part in self._parts]
            received, lost, filtered = (
                self._found.past[number] + sum(counts[number] for counts in every) for number in range(3)
            )
            lag = sum(max(0, counts[4] - counts[3]) for counts in every)
            return received, lost, filtered, 0, lag, -1, bool(every) and all(counts[6] for counts in every)

    @property
    def position(self) -> NoReturn:
        """Raise BadArgument: each topic has a position of its own, in `stats()["topics"]`."""
        text = "a pattern has a position in each topic: see stats()['topics']"
        raise BadArgument(text, argument="position")

    def stats(self) -> dict[str, Any]:
        """Return received, lost, filtered and lag of all topics together, and "topics": the stats of each by name."""
        received, lost, filtered, _, lag, _, reliable = self._counts()
        with self._locked():
            topics = {part.topic: part.subscriber.stats() for part in self._parts}
            refused = sorted(self._found.refused)
        return {
            "topic": self.topic,
            "attached": bool(topics),
            "received": received,
            "lost": lost,
            "filtered": filtered,
            "lag": lag,
            "reliable": reliable,
            "topics": dict(sorted(topics.items())),
            "refused": refused,
        }

    @property
    def attached(self) -> bool:
        """Whether a topic that matches exists yet."""
        return bool(self._parts)

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Detach from all topics; waits end with Closed."""
        if self._pid != os.getpid():
            return  # these are the parent's
        with self._lock:
            self._closed = True
            for part in self._parts:
                part.subscriber.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._parts)} topics"
        return f"<PatternSubscriber {self.topic!r} {state}>"


async def _until_ready(subscriber: Subscriber) -> None:
    await subscriber._until(None, lambda: subscriber._ready() or None)


def _hold_of(part: Subscriber) -> Held | None:
    view = part.view(0)
    message = view.__enter__()
    if message is None:
        view.__exit__(None, None, None)
        return None
    return Held(message, lambda: view.__exit__(None, None, None))


PatternSubscriber.__module__ = "slipring"
