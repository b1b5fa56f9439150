# SPDX-License-Identifier: Apache-2.0
"""The requests of a client: one method per request of docs/spec/bridge.md, under the same name.

The content comes from the network. It is converted to the type that contents.py declares for the request before
anything is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slipring._bus.bus import Bus
from slipring._bus.settings import START_SEQ, SubscriberSettings
from slipring._bus.subscriber import Subscriber
from slipring.errors import (
    BadArgument,
    Busy,
    SlipringError,
    TooManyReaders,
    TooManyWriters,
    TopicGone,
    TopicNotFound,
)

from .. import origin_files, schemas
from ..checked import convert
from ..wire import Window
from . import contents
from .client_session import Session
from .pump import Pump
from .server_publisher import ServerPublisher
from .server_subscription import ServerSubscription

Content = dict[str, Any]  # as it comes
Method = Callable[[Session, Any], Any]


class Requests:
    def __init__(self, bus: Bus, directory: str, window: Window, pump: Pump) -> None:
        self._bus, self._directory, self._window, self._pump = bus, directory, window, pump
        self._methods: dict[str, tuple[type[Any], Method]] = {
            "topics": (contents.Nothing, self.topics),
            "stats": (contents.OfTopic, self.stats),
            "schema": (contents.OfTopic, self.schema),
            "create": (contents.Create, self.create),
            "remove": (contents.Remove, self.remove),
            "drop_cursor": (contents.DropCursor, self.drop_cursor),
            "doctor": (contents.Doctor, self.doctor),
            "origins": (contents.OfTopic, self.origins),
            "publisher": (contents.OpenPublisher, self.publisher),
            "subscribers": (contents.OfHandle, self.subscribers),
            "close_publisher": (contents.ClosePublisher, self.close_publisher),
            "subscribe": (contents.Subscribe, self.subscribe),
            "unsubscribe": (contents.OfHandle, self.unsubscribe),
            "seek": (contents.Seek, self.seek),
            "commit": (contents.Commit, self.commit),
            "look": (contents.OfHandle, self.look),
        }

    def run(self, session: Session, content: Content) -> Any:
        """Do what is requested, and return the value of the reply."""
        name = str(content.get("request"))
        if name not in self._methods:
            allowed = ", ".join(sorted(self._methods))
            raise BadArgument(f"unknown request {name!r}: allowed are {allowed}", argument="request")
        kind, method = self._methods[name]
        return method(session, convert(content, kind))

    # The bus

    def topics(self, _session: Session, _: contents.Nothing) -> Any:
        return self._bus.topics()

    def stats(self, _session: Session, request: contents.OfTopic) -> Any:
        return self._bus.stats(request.topic)

    def schema(self, _session: Session, request: contents.OfTopic) -> Any:
        return schemas.to_text(self._bus._stored(self._bus._topic(request.topic)))

    def create(self, _session: Session, request: contents.Create) -> None:
        self._bus.create(request.topic, exist_ok=request.exist_ok, **_settings(request.settings))

    def remove(self, _session: Session, request: contents.Remove) -> None:
        self._bus.remove(request.topic, missing_ok=request.missing_ok)

    def drop_cursor(self, _session: Session, request: contents.DropCursor) -> None:
        self._bus.drop_cursor(request.topic, request.cursor)

    def doctor(self, _session: Session, request: contents.Doctor) -> Any:
        return self._bus.doctor(repair=request.repair)

    def origins(self, _session: Session, request: contents.OfTopic) -> Any:
        return origin_files.origins(self._directory, request.topic)

    # Publishers

    def publisher(self, session: Session, request: contents.OpenPublisher) -> Content:
        """Open a publisher, or find the one that this client had."""
        number, topic, generation = session.new_handle(request.handle), request.topic, request.generation
        publisher, opened = session.publishers.get(number), False
        if publisher is None or publisher.origin.origin != request.origin:
            if generation is not None and topic not in self._bus.topics():
                raise TopicGone(f"topic {topic!r} was removed")
            publisher = session.publishers[number] = self._open(request)
            opened = True
        if generation is not None and publisher.origin.generation != generation:
            session.publishers.pop(number).close(forget=True)
            raise TopicGone(f"topic {topic!r} was removed and created again")
        if request.upstream is not None:
            try:
                publisher.origin.tell_upstream(request.upstream)
            except SlipringError:
                if opened:  # the reply is an error: the client has no publisher
                    session.publishers.pop(number).close()
                raise
        return {
            "generation": publisher.origin.generation,
            "reliable": publisher.origin.reliable,
            "schema": schemas.to_text(publisher.origin.publisher._schema),
            "place": publisher.place(),
        }

    def _open(self, request: contents.OpenPublisher) -> ServerPublisher:
        origin = origin_files.Origin(
            self._bus,
            request.topic,
            request.origin,
            directory=self._directory,
            sender=request.sender,
            **_settings(request.settings),
        )
        try:
            return ServerPublisher(request.handle, origin, self._bus.stats(request.topic)["capacity"])
        except SlipringError:
            origin.close()
            raise

    def subscribers(self, session: Session, request: contents.OfHandle) -> int:
        return session.publisher(request.handle).origin.publisher._subscribers()

    def close_publisher(self, session: Session, request: contents.ClosePublisher) -> None:
        publisher = session.publishers.pop(request.handle, None)
        if publisher is not None:
            publisher.close(forget=request.forget)

    # Subscriptions

    def subscribe(self, session: Session, request: contents.Subscribe) -> Content:
        """Open a subscription, or continue it where the client's connection broke."""
        number, position = session.new_handle(request.handle), request.resume
        old = session.subscriptions.get(number)
        missing = old.resume(position) if old is not None and position is not None else None
        if old is not None and missing is not None:
            session.behind_reply = missing
            return self._state(old)
        self._pump.drop(session, number)
        limit = self._window
        window = Window(
            max(1, min(request.messages, limit.messages)), max(1, min(request.bytes, limit.bytes))
        )
        subscriber = self._attach(session, request)
        before = self._go_to(subscriber, request)
        has_cursor = request.cursor is not None
        subscription = ServerSubscription(number, subscriber, window, request.conflate, has_cursor)
        self._pump.add(session, subscription)
        try:
            return self._state(subscription, before)
        except SlipringError:
            self._pump.drop(session, number)  # the reply is an error: the client has no subscription
            raise

    def _attach(self, session: Session, request: contents.Subscribe) -> Subscriber:
        if request.generation is not None:
            self._check_generation(request.topic, request.generation)
        start = request.start
        if request.resume is not None:
            start = request.resume
        elif request.waited and isinstance(start, str) and request.topic in self._bus.topics():
            start = 0  # it was there before its topic: it has to count every message of it
        own = None if request.own is None else session.publisher(request.own).origin.publisher._entry()
        given = SubscriberSettings(
            start,
            request.lossy,
            request.cursor,
            request.conflate,
            request.types,
            request.ignore_types or (),
            request.ignore_senders or (),
            request.expires,
            own,
            schemas.asked(request.schema),
        )
        return self._bus._subscribe(request.topic, given)

    def _go_to(self, subscriber: Subscriber, request: contents.Subscribe) -> tuple[int, int]:
        """A cursor opens where it was committed; its client is further and has counted what was lost until there."""
        if request.resume is None or request.cursor is None:
            return 0, 0
        before = subscriber.lost, subscriber.filtered
        try:
            subscriber._seek(START_SEQ, request.resume)
        except SlipringError:
            subscriber.close()
            raise
        return before

    def _check_generation(self, topic: str, generation: str) -> None:
        try:
            found = str(self._bus.stats(topic)["generation"])
        except TopicNotFound:
            found = ""
        if found != generation:
            raise TopicGone(f"topic {topic!r} was removed while the connection was lost")

    def _state(self, subscription: ServerSubscription, before: tuple[int, int] | None = None) -> Content:
        """Return the state of a subscription. before: what a new one had lost and filtered elsewhere."""
        _, lost, filtered, position, tail, entry, reliable = subscription.subscriber._counts()
        attached = subscription.subscriber.attached
        topic = subscription.subscriber.topic
        unknown = before is not None or not subscription.announced  # the client may not know the schema
        schema = {"schema": schemas.to_text(subscription.subscriber._schema)} if attached and unknown else {}
        return {
            **schema,
            "resumed": before is None,
            "lost_before": before[0] if before else 0,
            "filtered_before": before[1] if before else 0,
            "epoch": subscription.epoch,
            "attached": attached,
            "generation": str(self._bus.stats(topic)["generation"]) if attached else None,
            "lost": lost,
            "filtered": filtered,
            "position": position,
            "tail": tail,
            "entry": None if entry < 0 else entry,
            "reliable": reliable,
            "window": list(subscription.window),
        }

    def unsubscribe(self, session: Session, request: contents.OfHandle) -> None:
        self._pump.drop(session, request.handle)

    def seek(self, session: Session, request: contents.Seek) -> Content:
        subscription = session.subscription(request.handle)
        before = subscription.subscriber.lost, subscription.subscriber.filtered
        subscription.seek(request.start, request.seq)
        self._pump.wake(subscription)
        return self._state(subscription, before)

    def commit(self, session: Session, request: contents.Commit) -> None:
        session.subscription(request.handle).subscriber.commit(request.position)

    def look(self, session: Session, request: contents.OfHandle) -> Content:
        return self._state(session.subscription(request.handle))


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    checked = convert(given, contents.Settings, "settings")
    return given if checked.schema is None else {**given, "schema": schemas.asked(checked.schema)}


def is_taken(content: Content, error: Exception) -> bool:
    """Whether another client, whose connection may be lost, has what is requested."""
    opens = content.get("request") in ("publisher", "subscribe")
    return opens and isinstance(error, (Busy, TooManyReaders, TooManyWriters))
