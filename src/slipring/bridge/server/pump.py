# SPDX-License-Identifier: Apache-2.0
"""The pump: sends batches of readable subscriptions, publishes messages that waited for room, and closes
the handles of a session.

A subscription that has room in its window and nothing to read is handed to a thread that sleeps for all of these
(readable_watch.py).
"""

from __future__ import annotations

from slipring._bus.bus import Bus
from slipring._bus.logs import logger
from slipring.errors import SlipringError

from .. import error_codec, schemas, wire
from .client_session import Session, TopicErrors
from .readable_watch import ReadableWatch
from .server_publisher import ServerPublisher
from .server_subscription import ServerSubscription

log = logger("bridge")

_ROOM_CHECK_S = 0.002


class Pump:
    """For the server's thread alone."""

    def __init__(self, bus: Bus, errors: TopicErrors) -> None:
        self._bus, self._errors = bus, errors
        self._sessions: dict[ServerSubscription, Session] = {}
        self._ready: dict[ServerSubscription, Session] = {}
        self._waiting: dict[ServerPublisher, Session] = {}
        self._watch = ReadableWatch()
        self.descriptor = self._watch.descriptor

    def timeout_s(self, at_most: float) -> float:
        """Return how long the loop may sleep."""
        if self._ready:
            return 0.0
        return min(at_most, _ROOM_CHECK_S) if self._waiting else at_most

    def stop_sleeping(self) -> None:
        """End the sleep of the loop, from any thread."""
        self._watch.wake_loop()

    # From the ring to clients

    def add(self, session: Session, subscription: ServerSubscription) -> None:
        session.subscriptions[subscription.number] = subscription
        self._sessions[subscription] = session
        self.wake(subscription)

    def wake(self, subscription: ServerSubscription) -> None:
        """Test at the next turn whether there is something to send: the subscription has changed."""
        self._ready[subscription] = self._sessions[subscription]

    def ready(self) -> list[tuple[Session, ServerSubscription]]:
        """Return the subscriptions to send a batch of."""
        for subscription in self._watch.readable():
            if subscription in self._sessions:
                self.wake(subscription)
        return [(session, subscription) for subscription, session in self._ready.items()]

    def send_batch(
        self, session: Session, subscription: ServerSubscription, beyond_window: bool = False
    ) -> bool:
        """Send one batch; False when there is nothing to send or no room for it."""
        if not session.connected or subscription not in self._sessions:
            self._ready.pop(subscription, None)
            return False
        try:
            frames = subscription.read(beyond_window)
            if subscription.subscriber.attached and not subscription.announced:
                subscription.announced = True
                session.send(self._attached(subscription))
        except SlipringError as error:
            self._errors.log(subscription.subscriber.topic, error)
            content = error_codec.to_json(error)
            failed = wire.with_json(wire.FAILED, subscription.number, subscription.epoch, content=content)
            session.send(failed)
            self.drop(session, subscription.number)
            return False
        if frames is not None:
            session.send(frames)
            return True
        self._ready.pop(subscription, None)
        if subscription.has_room:
            self._watch.add(subscription)
        return False

    def report_failures(self, session: Session, topic: str | None = None) -> None:
        """Send the errors of subscriptions, of those whose window is full too."""
        for subscription in list(session.subscriptions.values()):
            if topic in (None, subscription.subscriber.topic) and subscription.has_failed():
                self.send_batch(session, subscription, beyond_window=True)

    def _attached(self, subscription: ServerSubscription) -> wire.Frames:
        facts = self._bus.stats(subscription.subscriber.topic)
        reliable = subscription.subscriber.stats()["reliable"]
        schema = schemas.to_text(subscription.subscriber._schema)
        content = {"generation": str(facts["generation"]), "reliable": reliable, "schema": schema}
        return wire.with_json(wire.ATTACHED, subscription.number, subscription.epoch, content=content)

    def drop(self, session: Session, number: int) -> None:
        """Close a subscription, if there is one of this number."""
        subscription = session.subscriptions.pop(number, None)
        if subscription is None:
            return
        self._ready.pop(subscription, None)
        self._sessions.pop(subscription, None)
        self._watch.remove(subscription)
        try:
            subscription.close()
        except (SlipringError, OSError) as error:
            log.warning(
                "a subscriber of topic %r could not be closed: %s", subscription.subscriber.topic, error
            )

    # From clients to the ring

    def waiting(self) -> list[tuple[Session, ServerPublisher]]:
        """Return the publishers that wait for room. A client without a connection sends again when it is back."""
        self._waiting = {each: session for each, session in self._waiting.items() if session.connected}
        return [(session, publisher) for publisher, session in self._waiting.items()]

    def publish(self, session: Session, publisher: ServerPublisher, now: float) -> None:
        """Publish what there is room for, and answer when that was all."""
        reply = publisher.advance(now)
        if publisher.is_waiting:
            self._waiting[publisher] = session
        else:
            self._waiting.pop(publisher, None)
        if reply is not None:
            session.send(reply)

    def close_session(self, session: Session) -> None:
        """Close all handles of a client."""
        for number in list(session.subscriptions):
            self.drop(session, number)
        for publisher in session.publishers.values():
            self._waiting.pop(publisher, None)
            try:
                publisher.close()
            except (SlipringError, OSError) as error:
                log.warning("a publisher of topic %r could not be closed: %s", publisher.origin.topic, error)
        session.publishers.clear()

    def close(self) -> None:
        self._watch.close()
