# SPDX-License-Identifier: Apache-2.0
"""What a client can request of a server: one method per request of docs/spec/bridge.md, under the same name.

The content comes from the network: every field is checked for its type where it is read.
"""

from __future__ import annotations

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

from .. import origin_files
from ..wire import Window
from .pump import Pump
from .server_publisher import ServerPublisher
from .server_subscription import ServerSubscription
from .session import Session

_SETTINGS = {
    "capacity", "slots", "delivery", "writers", "mode", "max_readers", "max_writers", "max_cursors",
}  # fmt: skip
Content = dict[str, Any]


def _field(content: Content, name: str, kind: type, *, optional: bool = False) -> Any:
    value = content.get(name)
    if optional and value is None:
        return None
    if kind is int:
        if type(value) is not int or not 0 <= value < 1 << 63:
            raise BadArgument(f"{name}={value!r} must be an int from 0 to 2**63 - 1", argument=name)
    elif not isinstance(value, kind):
        raise BadArgument(f"{name}={value!r} must be {kind.__name__}", argument=name)
    return value


def _texts(content: Content, name: str) -> list[str] | None:
    values: list[str] | None = _field(content, name, list, optional=True)
    if values is not None and not all(isinstance(value, str) for value in values):
        raise BadArgument(f"{name}={values!r} must be a list of str", argument=name)
    return values


def _settings(content: Content) -> Content:
    given: Content = _field(content, "settings", dict)
    unknown = sorted(set(given) - _SETTINGS)
    if unknown:
        allowed = ", ".join(sorted(_SETTINGS))
        raise BadArgument(f"unknown setting {unknown[0]!r}: allowed are {allowed}", argument=unknown[0])
    return given


class Requests:
    def __init__(self, bus: Bus, directory: str, window: Window, pump: Pump) -> None:
        self._bus, self._directory, self._window, self._pump = bus, directory, window, pump
        self._methods = {
            method.__name__: method
            for method in (
                self.topics, self.stats, self.create, self.remove, self.drop_cursor, self.doctor, self.origins,
                self.publisher, self.subscribers, self.close_publisher,
                self.subscribe, self.unsubscribe, self.seek, self.commit, self.look,
            )
        }  # fmt: skip

    def run(self, session: Session, content: Content) -> Any:
        """Do what is requested, and return the value of the reply."""
        name = str(content.get("request"))
        if name not in self._methods:
            raise BadArgument(f"unknown request {name!r}", argument="request")
        return self._methods[name](session, content)

    # The bus

    def topics(self, _session: Session, _content: Content) -> Any:
        return self._bus.topics()

    def stats(self, _session: Session, content: Content) -> Any:
        return self._bus.stats(_field(content, "topic", str))

    def create(self, _session: Session, content: Content) -> None:
        exist_ok = _field(content, "exist_ok", bool)
        self._bus.create(_field(content, "topic", str), exist_ok=exist_ok, **_settings(content))

    def remove(self, _session: Session, content: Content) -> None:
        self._bus.remove(_field(content, "topic", str), missing_ok=_field(content, "missing_ok", bool))

    def drop_cursor(self, _session: Session, content: Content) -> None:
        self._bus.drop_cursor(_field(content, "topic", str), _field(content, "cursor", str))

    def doctor(self, _session: Session, content: Content) -> Any:
        return self._bus.doctor(repair=_field(content, "repair", bool))

    def origins(self, _session: Session, content: Content) -> Any:
        return origin_files.origins(self._directory, _field(content, "topic", str))

    # Publishers

    def publisher(self, session: Session, content: Content) -> Content:
        """Open a publisher, or find the one that this client had."""
        number = session.new_handle(_field(content, "handle", int))
        topic, sender, origin = (_field(content, name, str) for name in ("topic", "sender", "origin"))
        generation = _field(content, "generation", str, optional=True)
        upstream = _texts(content, "upstream")
        publisher, opened = session.publishers.get(number), False
        if publisher is None or publisher.origin.origin != origin:
            if generation is not None and topic not in self._bus.topics():
                raise TopicGone(f"topic {topic!r} was removed")
            publisher = self._open(number, topic, sender, origin, _settings(content))
            session.publishers[number] = publisher
            opened = True
        if generation is not None and publisher.origin.generation != generation:
            session.publishers.pop(number).close(forget=True)
            raise TopicGone(f"topic {topic!r} was removed and created again")
        if upstream is not None:
            try:
                publisher.origin.tell_upstream(upstream)
            except SlipringError:
                if opened:  # the reply is an error: the client has no publisher
                    session.publishers.pop(number).close()
                raise
        facts = {"generation": publisher.origin.generation, "reliable": publisher.origin.reliable}
        return {**facts, "place": publisher.place()}

    def _open(self, number: int, topic: str, sender: str, origin: str, settings: Content) -> ServerPublisher:
        found = origin_files.Origin(
            self._bus, topic, origin, directory=self._directory, sender=sender, **settings
        )
        try:
            return ServerPublisher(number, found, self._bus.stats(topic)["capacity"])
        except SlipringError:
            found.close()
            raise

    def subscribers(self, session: Session, content: Content) -> int:
        return session.publisher(_field(content, "handle", int)).origin.publisher._subscribers()

    def close_publisher(self, session: Session, content: Content) -> None:
        publisher = session.publishers.pop(_field(content, "handle", int), None)
        if publisher is not None:
            publisher.close(forget=_field(content, "forget", bool))

    # Subscriptions

    def subscribe(self, session: Session, content: Content) -> Content:
        """Open a subscription, or continue it where the client's connection broke."""
        number = session.new_handle(_field(content, "handle", int))
        old = session.subscriptions.get(number)
        position = _field(content, "resume", int, optional=True)
        missing = old.resume(position) if old is not None and position is not None else None
        if old is not None and missing is not None:
            session.behind_reply = missing
            return self._state(old)
        self._pump.drop(session, number)
        messages, size = (_field(content, name, int) for name in ("messages", "bytes"))
        conflate, limit = _field(content, "conflate", bool), self._window
        window = Window(max(1, min(messages, limit.messages)), max(1, min(size, limit.bytes)))
        subscriber = self._attach(session, content, position)
        before = self._go_to(subscriber, content, position)
        has_cursor = content.get("cursor") is not None
        subscription = ServerSubscription(number, subscriber, window, conflate, has_cursor)
        self._pump.add(session, subscription)
        try:
            return self._state(subscription, before)
        except SlipringError:
            self._pump.drop(session, number)  # the reply is an error: the client has no subscription
            raise

    def _attach(self, session: Session, content: Content, position: int | None) -> Subscriber:
        topic = _field(content, "topic", str)
        generation = _field(content, "generation", str, optional=True)
        if generation is not None:
            self._check_generation(topic, generation)
        start = content.get("start")
        if not isinstance(start, str):
            start = _field(content, "start", int)
        if position is not None:
            start = position
        elif _field(content, "waited", bool) and not isinstance(start, int) and topic in self._bus.topics():
            start = 0  # it was there before its topic: nothing of it may be missed unnoticed
        own = _field(content, "own", int, optional=True)
        given = SubscriberSettings(
            start,
            _field(content, "lossy", bool, optional=True),
            _field(content, "cursor", str, optional=True),
            _field(content, "conflate", bool),
            _texts(content, "types"),
            _texts(content, "ignore_types") or (),
            _texts(content, "ignore_senders") or (),
            _field(content, "expires", float, optional=True),
            None if own is None else session.publisher(own).origin.publisher._entry(),
        )
        return self._bus._subscribe(topic, given)

    def _go_to(self, subscriber: Subscriber, content: Content, position: int | None) -> tuple[int, int]:
        """A cursor opens where it was committed; its client is further and has counted what was lost until there."""
        if position is None or content.get("cursor") is None:
            return 0, 0
        before = subscriber.lost, subscriber.filtered
        try:
            subscriber._seek(START_SEQ, position)
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
        return {
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

    def unsubscribe(self, session: Session, content: Content) -> None:
        self._pump.drop(session, _field(content, "handle", int))

    def seek(self, session: Session, content: Content) -> Content:
        subscription = session.subscription(_field(content, "handle", int))
        before = subscription.subscriber.lost, subscription.subscriber.filtered
        subscription.seek(_field(content, "start", int), _field(content, "seq", int))
        self._pump.wake(subscription)
        return self._state(subscription, before)

    def commit(self, session: Session, content: Content) -> None:
        subscription = session.subscription(_field(content, "handle", int))
        subscription.subscriber.commit(_field(content, "position", int))

    def look(self, session: Session, content: Content) -> Content:
        return self._state(session.subscription(_field(content, "handle", int)))


def is_taken(content: Content, error: Exception) -> bool:
    """Whether another client has what is requested, who may be gone."""
    opens = content.get("request") in ("publisher", "subscribe")
    return opens and isinstance(error, (Busy, TooManyReaders, TooManyWriters))
