# SPDX-License-Identifier: Apache-2.0
"""Bus: a set of topics (topics.py), and the handles made from it; for cells, frames and calls see patterns.py."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, cast

from slipring.errors import BadArgument, Closed

from . import directory, settings, transports
from .member import Member
from .patterns import Patterns
from .publisher import Publisher
from .subscriber import Subscriber

if TYPE_CHECKING:
    from .pattern_subscriber import PatternSubscriber


class Bus(Patterns):
    """A named set of topics on this host.

    >>> bus = slipring.Bus("robot")
    >>> pub = bus.publisher("imu", sender="gyro")
    >>> sub = bus.subscriber("imu")
    """

    _member: type[Member] = Member

    def __new__(
        cls, name: str = "default", *, root: str | os.PathLike[str] | None = None, **of_subclasses: Any
    ) -> Self:
        return super().__new__(transports.chosen(cls, name, root))

    def __init__(self, name: str = "default", *, root: str | os.PathLike[str] | None = None) -> None:
        super().__init__(name, root=root)
        self._handles = weakref.WeakSet()
        self._services = weakref.WeakSet()

    @settings.names_its_parameters
    def publisher(
        self,
        topic: str,
        sender: str = "",
        *,
        capacity: int | str | None = None,
        slots: int | None = None,
        delivery: str | None = None,
        writers: str | None = None,
        mode: int | None = None,
        max_readers: int | None = None,
        max_writers: int | None = None,
        max_cursors: int | None = None,
        exist_ok: bool = True,
        must_exist: bool = False,
    ) -> Publisher:
        """Return a publisher. Creates the topic when it is missing, with settings as in `create`.

        exist_ok=False raises TopicExists when there is one, must_exist=True TopicNotFound when there is none."""
        if not isinstance(sender, str):
            raise TypeError(f"sender must be str, not {type(sender).__name__}")
        given = {
            "capacity": capacity, "slots": slots, "delivery": delivery, "writers": writers, "mode": mode,
            "max_readers": max_readers, "max_writers": max_writers, "max_cursors": max_cursors,
            "must_exist": must_exist or None,
        }  # fmt: skip
        return self._open_publisher(topic, sender, given, exist_ok)

    def _open_publisher(self, topic: str, sender: str, given: dict[str, Any], exist_ok: bool) -> Publisher:
        checked = settings.topic_settings(**given)
        self._topic(topic)
        if not exist_ok:
            self._make(topic, checked, False)
        return self._publisher(topic, sender, checked)

    def _publisher(self, topic: str, sender: str, given: dict[str, int]) -> Publisher:
        directory.make(self.root, self.path)
        publisher = Publisher(self.path, topic, sender, given)
        self._handles.add(publisher)
        return publisher

    @settings.names_its_parameters
    def subscriber(
        self,
        topic: str,
        start: str | SupportsIndex = "new",
        lossy: bool | None = None,
        cursor: str | None = None,
        conflate: bool = False,
        types: Iterable[str] | None = None,
        ignore_types: Iterable[str] = (),
        ignore_senders: Iterable[str] = (),
        *,
        expires: float | None = None,
    ) -> Subscriber:
        """Return a subscriber. It may come before its topic, and attaches when that appears.

        start: "new" (or "latest"), "last", "oldest" (or "earliest"), or a sequence. A topic with a wildcard, such as
        "cam.*", stands for all topics that match, those that appear later too: a `PatternSubscriber`."""
        if settings.is_pattern(topic):
            return self._match(
                topic, start, lossy, cursor, conflate, types, ignore_types, ignore_senders, expires
            )
        return self._subscribe(
            topic, start, lossy, cursor, conflate, types, ignore_types, ignore_senders, expires, None
        )

    def _match(
        self,
        pattern: str,
        start: str | SupportsIndex,
        lossy: bool | None,
        cursor: str | None,
        conflate: bool,
        types: Iterable[str] | None,
        ignore_types: Iterable[str],
        ignore_senders: Iterable[str],
        expires: float | None,
    ) -> Subscriber:
        if self._closed:
            raise Closed("this bus is closed")
        settings.check_pattern(pattern)
        self._check_cursor(cursor, expires)
        settings.expiry_ns(expires)
        only = None if types is None else settings.texts("types", types)
        without = (
            settings.texts("ignore_types", ignore_types),
            settings.texts("ignore_senders", ignore_senders),
        )

        def subscribe(topic: str, begin: str | int) -> Subscriber:
            return self._subscribe(topic, begin, lossy, cursor, conflate, only, *without, expires, None)

        made = self._pattern_class()(self, pattern, start, subscribe)
        self._handles.add(made)
        return cast("Subscriber", made)  # not one by birth, but with its methods

    _awaits_patterns = True

    def _pattern_class(self) -> type[PatternSubscriber]:
        from .pattern_subscriber import PatternSubscriber  # few need it

        return PatternSubscriber

    def _check_cursor(self, cursor: str | None, expires: float | None) -> None:
        if cursor is not None:
            if not isinstance(cursor, str):
                raise TypeError(f"cursor must be str, not {type(cursor).__name__}")
            self._check_text("cursor", cursor)
        elif expires is not None:
            raise BadArgument("expires belongs to a cursor: give cursor= too", argument="expires")

    def _subscribe(
        self,
        topic: str,
        start: str | SupportsIndex,
        lossy: bool | None,
        cursor: str | None,
        conflate: bool,
        types: Iterable[str] | None,
        ignore_types: Iterable[str],
        ignore_senders: Iterable[str],
        expires: float | None,
        own: tuple[int, int] | None,
    ) -> Subscriber:
        self._check_cursor(cursor, expires)
        arguments = (
            *settings.start_place(start),
            -1 if lossy is None else int(bool(lossy)),
            bool(conflate),
            cursor,
            settings.expiry_ns(expires),
            None if types is None else settings.texts("types", types),
            settings.texts("ignore_types", ignore_types),
            settings.texts("ignore_senders", ignore_senders),
            own,
        )
        return self._subscriber(self._topic(topic), arguments)

    def _subscriber(self, topic: str, arguments: tuple[Any, ...]) -> Subscriber:
        subscriber = Subscriber(self.path, topic, arguments)
        if not subscriber.attached:
            self._clear_half(topic)
        self._handles.add(subscriber)
        return subscriber

    @settings.names_its_parameters
    def join(
        self,
        topic: str,
        sender: str,
        own: bool = False,
        *,
        start: str | SupportsIndex = "new",
        lossy: bool | None = None,
        types: Iterable[str] | None = None,
        ignore_types: Iterable[str] = (),
        ignore_senders: Iterable[str] = (),
        capacity: int | str | None = None,
        slots: int | None = None,
        delivery: str | None = None,
        writers: str | None = None,
        mode: int | None = None,
        max_readers: int | None = None,
        max_writers: int | None = None,
        max_cursors: int | None = None,
        exist_ok: bool = True,
    ) -> Member:
        """Return a member, which sends and receives on one topic. The topic is reliable when this creates it, unless
        delivery= says otherwise; other settings as in `create`."""
        if delivery is None and topic not in self.topics():
            delivery = "reliable"
        publisher = self.publisher(
            topic, sender, capacity=capacity, slots=slots, delivery=delivery, writers=writers, mode=mode,
            max_readers=max_readers, max_writers=max_writers, max_cursors=max_cursors, exist_ok=exist_ok,
        )  # fmt: skip
        try:
            entry = None if own else publisher._entry()
            subscriber = self._subscribe(
                topic, start, lossy, None, False, types, ignore_types, ignore_senders, None, entry
            )
        except BaseException:
            publisher.close()
            raise
        return self._member(publisher, subscriber, reliable=self.stats(topic)["delivery"] == "reliable")

    def close(self) -> None:
        """Close every handle made from this bus; their waits end with Closed."""
        for service in list(self._services):
            service.close()
        self._closed = True
        for handle in list(self._handles):
            handle.close()

    @property
    def closed(self) -> bool:
        return self._closed

    def __reduce__(self) -> Any:
        """As its name and root: the copy is the same bus, opened by whoever unpickles it."""
        if self._closed:
            raise Closed("this bus is closed")
        return _reopen, (type(self), self.name, self.root)

    def _repr_html_(self) -> str:
        from . import notebook  # only notebooks need it

        return notebook.bus(self)

    def __repr__(self) -> str:
        return f"<Bus {self.name!r} at {self.path}>"


def _reopen(cls: type[Bus], name: str, root: str) -> Bus:
    return cls(name, root=root)


Bus.__module__ = "slipring"
