# SPDX-License-Identifier: Apache-2.0
"""Bus: a set of topics, and the handles made from it: publishers, subscribers, members, cells, frames, calls.

Another kind of bus (slipring.bridge, slipring.testing) replaces the methods that begin with one underscore and use
files, and keeps the others. Cells, frames, calls and patterns are imported at their first use: most processes only
publish and subscribe.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self, SupportsIndex, TypeVar, cast

from slipring.errors import Closed, TopicNotFound

from . import directory, kinds, notebook, settings, transports
from .closing import Closing
from .frames import streams as frame_streams
from .member import Member
from .native import _native
from .publisher import Publisher, Value
from .settings import SubscriberSettings
from .subscriber import Subscriber
from .typed.subscriber_reading import PlainMessage, Reading
from .wait import Clock

if TYPE_CHECKING:
    from .calls.client.client import Client
    from .calls.codecs import Codec
    from .calls.runtime import Runtime
    from .calls.server.server import Server
    from .cells.cells import Cells
    from .cells.store import CellsStore
    from .frames.frames import Frames
    from .frames.store import FrameStore
    from .patterns.subscriber import PatternSubscriber
    from .schema.declare import Declaration
    from .schema.topic_schema import Schema

Opened = TypeVar("Opened")


class Made(Protocol):
    """The handles that were made from a bus and are still referenced."""

    def add(self, made: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...


class Bus(Closing):
    """A named set of topics on this host.

    >>> bus = slipring.Bus("robot")
    >>> pub = bus.publisher("imu", sender="gyro")
    >>> sub = bus.subscriber("imu")
    """

    clock: Clock = time  # of time-outs and time stamps; the stepped bus (slipring.testing) has a virtual one
    _handles: Made
    _services: Made
    _member: type[Member] = Member
    _awaits_patterns = True  # whether asyncio can wait on a pattern
    _look_every_s = 0.02  # of a pattern that has nothing to receive: between two checks for new topics

    def __new__(
        cls, name: str = "default", *, root: str | os.PathLike[str] | None = None, **of_subclasses: Any
    ) -> Self:
        return super().__new__(transports.chosen(cls, name, root))

    def __init__(self, name: str = "default", *, root: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        settings.check_text("name", name)
        self.name = name
        self.root = directory.absolute_root(root)
        self.path = os.path.join(self.root, name)
        self._closed = False
        self._handles, self._services = weakref.WeakSet(), weakref.WeakSet()
        directory.check(self.root, self.path, root is None and "SLIPRING_ROOT" not in os.environ)

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("this bus is closed")

    def _topic(self, topic: str) -> str:
        """Return the name of a topic after all checks."""
        self._check_open()
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        settings.check_text("topic", topic)
        return topic

    # Publishing and subscribing

    @settings.names_its_parameters
    def create(
        self,
        topic: str,
        capacity: int | str | None = None,
        slots: int | None = None,
        delivery: str | None = None,
        writers: str | None = None,
        mode: int | None = None,
        exist_ok: bool = True,
        *,
        max_readers: int | None = None,
        max_writers: int | None = None,
        max_cursors: int | None = None,
        schema: type | Declaration | None = None,
        encoding: str | None = None,
    ) -> None:
        """Create a topic. Defaults: "16MiB", lossy, many writers, 0o600, no schema.

        Settings that are given must match a topic that exists already; the others are taken from it. schema: a class,
        dtype or other declaration of its messages, stored with the topic; encoding: "msgpack" or "json" for classes."""
        given = settings.given(
            capacity, slots, delivery, writers, mode, max_readers, max_writers, max_cursors
        )
        asked = self._declared(schema, encoding)
        self._open_typed(self._topic(topic), asked, given, lambda given: self._create(topic, given, exist_ok))

    def _declared(self, schema: Any, encoding: str | None) -> Schema | None:
        """Return the schema that a program declares, or None when it declares none."""
        if schema is None and encoding is None:
            return None
        from .typed import stored  # untyped topics do without

        return stored.declared(schema, encoding)

    def _open_typed(
        self,
        topic: str,
        asked: Schema | None,
        given: dict[str, Any],
        opened: Callable[[dict[str, Any]], Opened],
    ) -> Opened:
        """Call `opened` with settings in which the topic opens with the schema asked for, or raise SchemaMismatch."""
        if asked is None:
            return opened(given)
        from .typed import stored

        return stored.open_with(asked, topic, given, lambda: self._stored(topic), opened)

    def _create(self, topic: str, given: dict[str, Any], exist_ok: bool) -> None:
        self._make(topic, settings.topic_settings(**given), exist_ok)

    def _make(self, topic: str, checked: dict[str, Any], exist_ok: bool) -> None:
        directory.make(self.root, self.path)
        _native.topic_create(self.path, topic, checked, exist_ok)

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
        schema: type[Value] | Declaration | None = None,
        encoding: str | None = None,
    ) -> Publisher[Value]:
        """Return a publisher. Creates the topic when it is missing, with settings and schema as in `create`.

        exist_ok=False raises TopicExists when there is one, must_exist=True TopicNotFound when there is none."""
        if not isinstance(sender, str):
            raise TypeError(f"sender must be str, not {type(sender).__name__}")
        given = settings.given(
            capacity,
            slots,
            delivery,
            writers,
            mode,
            max_readers,
            max_writers,
            max_cursors,
            must_exist or None,
        )
        asked = self._declared(schema, encoding)

        def opened(given: dict[str, Any]) -> Publisher:
            return self._open_publisher(topic, sender, given, exist_ok)

        publisher = self._open_typed(topic, asked, given, opened)
        if publisher._schema is not None:
            from .typed.publisher_codec import attach

            attach(publisher, publisher._schema, asked)
        return publisher

    def _open_publisher(self, topic: str, sender: str, given: dict[str, Any], exist_ok: bool) -> Publisher:
        checked = settings.topic_settings(**given)
        self._topic(topic)
        if not exist_ok:
            self._make(topic, checked, False)
        return self._publisher(topic, sender, checked)

    def _publisher(self, topic: str, sender: str, checked: dict[str, Any]) -> Publisher:
        directory.make(self.root, self.path)
        publisher = Publisher(self.path, topic, sender, checked)
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
        schema: type[Value] | Declaration | None = None,
    ) -> Subscriber[Value]:
        """Return a subscriber. It may come before its topic, and attaches when that appears.

        start: "new" (or "latest"), "last", "oldest" (or "earliest"), or a sequence. A topic with a wildcard, such as
        "cam.*", stands for all topics that match, those that appear later too: a `PatternSubscriber`. schema: the class
        of `Message.value`; it may have fewer fields than the topic's, or more with defaults."""
        given = SubscriberSettings(
            start, lossy, cursor, conflate, types, ignore_types, ignore_senders, expires,
            schema=schema if schema is PlainMessage else self._declared(schema, None),
        )  # fmt: skip
        return self._match(topic, given) if settings.is_pattern(topic) else self._subscribe(topic, given)

    def _match(self, pattern: str, given: SubscriberSettings) -> Subscriber:
        self._check_open()
        settings.check_pattern(pattern)
        checked = given.checked()

        def subscribe(topic: str, start: str | int) -> Subscriber:
            return self._subscribe(topic, checked._replace(start=start))

        made = self._pattern_class()(self, pattern, given.start, subscribe)
        self._handles.add(made)
        return cast("Subscriber", made)  # another class with the same methods

    def _pattern_class(self) -> type[PatternSubscriber]:
        from .patterns.subscriber import PatternSubscriber

        return PatternSubscriber

    def _subscribe(self, topic: str, given: SubscriberSettings) -> Subscriber:
        arguments = given.for_core()
        return self._subscriber(self._topic(topic), arguments, Reading(given.schema))

    def _subscriber(self, topic: str, arguments: tuple[Any, ...], reading: Reading) -> Subscriber:
        subscriber = Subscriber(self.path, topic, arguments, reading)
        if not subscriber.attached:
            kinds.remove_half(self.path, topic)
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
        schema: type[Value] | Declaration | None = None,
        encoding: str | None = None,
    ) -> Member[Value]:
        """Return a member, which sends and receives on one topic.

        When this creates the topic, it is reliable unless delivery= is given; other settings as in `create`."""
        if delivery is None and topic not in self.topics():
            delivery = "reliable"
        given = settings.given(
            capacity, slots, delivery, writers, mode, max_readers, max_writers, max_cursors
        )
        publisher = self.publisher(
            topic, sender, exist_ok=exist_ok, schema=schema, encoding=encoding, **given
        )
        try:
            entry = None if own else publisher._entry()
            reading = SubscriberSettings(
                start, lossy, None, False, types, ignore_types, ignore_senders, None, entry,
                self._declared(schema, encoding),
            )  # fmt: skip
            subscriber = self._subscribe(topic, reading)
        except BaseException:
            publisher.close()
            raise
        return self._member(publisher, subscriber, reliable=self.stats(topic)["delivery"] == "reliable")

    # Cells, frames and calls: over a store or runtime that another kind of bus replaces

    @settings.names_its_parameters
    def cells(
        self,
        name: str,
        dtype: Any = None,
        depth: int | None = None,
        shape: int | Iterable[int] | None = None,
        *,
        size: int | None = None,
        mode: int | None = None,
        exist_ok: bool = True,
    ) -> Cells:
        """Return cells: the newest `depth` (default 4) values of one writer for one reader.

        The values are of numpy, or of `size` bytes. Creates the cells when they are missing. Settings that are given
        must match cells that exist already; the others are taken from them."""
        from .cells import cells

        arguments = (dtype, depth, shape, size, mode, exist_ok)
        store = self._cells_store()
        cells.create(store, self._topic(name), *arguments)
        return cells.Cells(store, name, self._handles.add)

    def _cells_store(self) -> CellsStore:
        from .cells.store import SharedCells

        return SharedCells(self.path, lambda: directory.make(self.root, self.path))

    @settings.names_its_parameters
    def frames(
        self,
        topic: str,
        shape: Any = None,
        dtype: Any = None,
        buffers: SupportsIndex | None = None,
        streams: Any = None,
        *,
        mode: int | None = None,
        max_readers: int | None = None,
    ) -> Frames:
        """Return frames: large arrays, in place, with `.publisher()` and `.subscriber()`.

        A publisher needs shape; dtype is "u1" and buffers 4 by default. streams: names, or a dict by name. Settings
        that are not given are taken from frames that exist already."""
        from .frames.frames import Frames

        given = {"mode": mode, "max_readers": max_readers}
        arguments = (shape, dtype, buffers, streams, given)
        return Frames(self, self._frame_store(), self._topic(topic), *arguments)

    def _frame_store(self) -> FrameStore:
        from .frames.store import SharedFrames

        return SharedFrames(self.path, lambda: directory.make(self.root, self.path))

    @settings.names_its_parameters
    def server(
        self,
        service: str,
        *,
        workers: int = 1,
        codec: str | Codec = "msgpack",
        backlog: int = 1024,
        tasks: int = 1000,
        capacity: int | str = "4MiB",
        max_clients: int = 256,
        mode: int | None = None,
        tracebacks: bool = False,
    ) -> Server:
        """Return a server of methods: `server.method(function)`, then `server.start()`.

        workers plain methods run at once, up to backlog calls wait for them; up to tasks async methods run at once.
        tracebacks=True sends the traceback of a failed method to its caller."""
        from .calls.server.server import Server

        server = Server(
            self, service, workers=workers, codec=codec, backlog=backlog, tasks=tasks,
            capacity=capacity, max_clients=max_clients, mode=mode, tracebacks=tracebacks,
        )  # fmt: skip
        self._services.add(server)
        return server

    @settings.names_its_parameters
    def client(
        self,
        service: str,
        timeout: float | None = 5.0,
        *,
        codec: str | Codec = "msgpack",
        capacity: int | str = "1MiB",
        max_answer: int | str = "256MiB",
        window: int = 16,
        mode: int | None = None,
    ) -> Client:
        """Return a client of a service: `client.call("method", …)`.

        timeout is for each call. capacity is of its reply topic; answers of up to max_answer are taken; window parts
        of a stream are sent ahead."""
        from .calls.client.client import Client

        client = Client(
            self, service, timeout, codec=codec, capacity=capacity, max_answer=max_answer,
            window=window, mode=mode,
        )  # fmt: skip
        self._services.add(client)
        return client

    def _calls_runtime(self) -> Runtime:
        from .calls.runtime import Runtime

        return Runtime(self)

    # The contents of the bus

    def topics(self) -> list[str]:
        """Return the names of the topics that exist, sorted."""
        self._check_open()
        return sorted(self._names())

    def contents(self) -> dict[str, str]:
        """Return everything on the bus by name: "topic" or "cells"."""
        self._check_open()
        return {name: kind.noun for name, kind in kinds.contents(self._files()).items()}

    def _names(self) -> list[str]:
        return kinds.topics(self._files())

    def _files(self) -> list[str]:
        return directory.listed(self.path)  # empty before the first topic

    def stats(self, topic: str) -> dict[str, Any]:
        """Return the counters and tables of a topic, or of cells, as they stand in shared memory."""
        kind = kinds.kind_of(self.path, self._topic(topic))
        if kind is not kinds.TOPIC:
            return notebook.Facts(kind.stats(self.path, topic))
        stats = kinds.with_ages(self._tables(topic), self.clock.time_ns())
        if stats.get("content") == "frames":
            stats["streams"] = frame_streams.look(self.path, topic)
        return notebook.Facts({"topic": topic, **stats})

    def schema(self, topic: str, stream: str | None = None) -> Schema | None:
        """Return the schema of a topic: .encoding .hash .arrow .json_schema .ddl .python; None for an untyped topic.

        Cells and frames have the schema of their dtype. stream: of frames with several."""
        from .typed import stored

        facts = self.stats(topic)
        if facts.get("kind") == "cells":
            return stored.of_cells(facts)
        if facts.get("content") == "frames":
            return stored.of_frames(topic, facts["streams"], stream)
        data = self._stored(topic)
        return None if data is None else stored.schema_of_topic(topic, data)

    def _stored(self, topic: str) -> bytes | None:
        """Return the bytes of a topic's schema."""
        return _native.topic_schema(self.path, topic)

    def _tables(self, topic: str) -> dict[str, Any]:
        return _native.topic_stats(self.path, topic)

    def cursors(self, topic: str) -> list[dict[str, Any]]:
        """Return the topic's cursors: name, position, lag, age_s, expires_s, attached."""
        cursors: list[dict[str, Any]] = self.stats(topic)["cursors"]
        return cursors

    def drop_cursor(self, topic: str, name: str) -> None:
        """Remove a cursor; the messages that only it kept may be reclaimed."""
        settings.check_text("cursor", name)
        self._drop_cursor(self._topic(topic), name)

    def _drop_cursor(self, topic: str, name: str) -> None:
        _native.cursor_drop(self.path, topic, name)

    def remove(self, topic: str, missing_ok: bool = False) -> None:
        """Remove a topic, or cells. Handles that use it raise TopicGone."""
        try:
            self._remove(self._topic(topic))
        except TopicNotFound:
            if not missing_ok:
                raise

    def _remove(self, topic: str) -> None:
        kinds.kind_of(self.path, topic).remove(self.path, topic)

    def doctor(self, repair: bool = False) -> list[dict[str, str]]:
        """Return findings: damaged topics, and files and entries of crashed processes, which repair=True clears."""
        self._check_open()
        from . import doctor  # few processes need it

        return doctor.examine(self.path, self._files(), repair)

    # For subscribers of patterns: which topics there are

    def _identities(self, stamp: object) -> tuple[object, dict[str, int] | None]:
        """Return a stamp for the next call, and each topic with its identity; None when nothing has changed since.

        An identity differs from that of every other topic of the same name while either is in use."""
        return kinds.identities(self.path, stamp)

    def _identity(self, topic: str) -> int | None:
        """Return the identity of a topic, or None when there is no such topic."""
        return kinds.identity(self.path, topic)

    # The end

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
        """Reduce to the name and root: the copy is the same bus, opened by the process that unpickles it."""
        self._check_open()
        return _reopen, (type(self), self.name, self.root)

    def _repr_html_(self) -> str:
        return notebook.bus(self)

    def __repr__(self) -> str:
        return f"<Bus {self.name!r} at {self.path}>"


def _reopen(cls: type[Bus], name: str, root: str) -> Bus:
    return cls(name, root=root)


Bus.__module__ = "slipring"
