# SPDX-License-Identifier: Apache-2.0
"""What a client may ask of a server, one function per request; every argument is checked for its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slipring._bus.settings import START_SEQ
from slipring.errors import (
    BadArgument,
    Busy,
    SlipringError,
    TooManyReaders,
    TooManyWriters,
    TopicGone,
    TopicNotFound,
)

from . import ledger
from .inlet import Inlet
from .outlet import Outlet, Window

if TYPE_CHECKING:
    from slipring._bus.subscriber import Subscriber

    from .session import Session

MOST_HANDLES = 1024
_SETTINGS = {
    "capacity", "slots", "delivery", "writers", "mode", "max_readers", "max_writers", "max_cursors",
}  # fmt: skip
Content = dict[str, Any]


def _of(content: Content, name: str, kind: type, *, optional: bool = False) -> Any:
    value = content.get(name)
    if optional and value is None:
        return None
    is_right = isinstance(value, kind)
    if isinstance(value, int) and kind is int:
        is_right = not isinstance(value, bool) and 0 <= value < 1 << 63
    if not is_right:
        raise BadArgument(f"{name}={value!r} must be {kind.__name__}", argument=name)
    return value


def _texts(content: Content, name: str) -> list[str] | None:
    values = _of(content, name, list, optional=True)
    if values is not None and not all(isinstance(value, str) for value in values):
        raise BadArgument(f"{name} must hold str", argument=name)
    return values  # type: ignore[no-any-return]


def _settings(content: Content) -> Content:
    given: Content = _of(content, "settings", dict)
    unknown = sorted(set(given) - _SETTINGS)
    if unknown:
        raise BadArgument(f"there is no setting {unknown[0]!r}", argument=unknown[0])
    return given


def topics(session: Session, content: Content) -> Any:
    return session.bus.topics()


def stats(session: Session, content: Content) -> Any:
    return session.bus.stats(_of(content, "topic", str))


def create(session: Session, content: Content) -> None:
    exist_ok = _of(content, "exist_ok", bool)
    session.bus.create(_of(content, "topic", str), exist_ok=exist_ok, **_settings(content))


def remove(session: Session, content: Content) -> None:
    topic = _of(content, "topic", str)
    session.bus.remove(topic, missing_ok=_of(content, "missing_ok", bool))
    session.tell_gone(topic)


def drop_cursor(session: Session, content: Content) -> None:
    session.bus.drop_cursor(_of(content, "topic", str), _of(content, "cursor", str))


def doctor(session: Session, content: Content) -> Any:
    return session.bus.doctor(repair=_of(content, "repair", bool))


def origins(session: Session, content: Content) -> Any:
    return ledger.origins(session.directory, _of(content, "topic", str))


# Handles


def _new_number(session: Session, content: Content) -> int:
    number: int = _of(content, "handle", int)
    if len(session.inlets) + len(session.outlets) >= MOST_HANDLES or number >= 1 << 32:
        raise BadArgument(f"a client may have {MOST_HANDLES} handles", argument="handle")
    return number


def publisher(session: Session, content: Content) -> Content:
    """Open a publisher, or find again the one this client had."""
    number = _new_number(session, content)
    topic, sender, origin = (_of(content, name, str) for name in ("topic", "sender", "origin"))
    generation = _of(content, "generation", str, optional=True)
    upstream = _texts(content, "upstream")
    inlet, opened = session.inlets.get(number), False
    if inlet is None or inlet.origin.origin != origin:
        if generation is not None and topic not in session.bus.topics():
            raise TopicGone(f"topic {topic!r} was removed")
        inlet = _open(session, number, topic, sender, origin, _settings(content))
        session.inlets[number] = inlet
        opened = True
    if generation is not None and inlet.origin.generation != generation:
        session.inlets.pop(number).close(forget=True)
        raise TopicGone(f"topic {topic!r} was removed, and made again")
    if upstream is not None:
        try:
            inlet.origin.tell_upstream(upstream)
        except SlipringError:
            if opened:  # the client is told that it has none
                session.inlets.pop(number).close()
            raise
    facts = {"generation": inlet.origin.generation, "reliable": inlet.origin.reliable}
    return {**facts, "place": inlet.place()}


def _open(session: Session, number: int, topic: str, sender: str, origin: str, settings: Content) -> Inlet:
    place = {"directory": session.directory, "sender": sender}
    found = ledger.Origin(session.bus, topic, origin, **place, **settings)
    try:
        return Inlet(number, found, session.bus.stats(topic)["capacity"])
    except SlipringError:
        found.close()
        raise


def subscribers(session: Session, content: Content) -> int:
    return session.inlet(_of(content, "handle", int)).origin.publisher._subscribers()


def close_publisher(session: Session, content: Content) -> None:
    number = _of(content, "handle", int)
    session.cancel(number)
    inlet = session.inlets.pop(number, None)
    if inlet is not None:
        inlet.close(forget=_of(content, "forget", bool))


def subscribe(session: Session, content: Content) -> Content:
    """Open a subscription, or go on with it where the client's connection broke."""
    number = _new_number(session, content)
    old = session.outlets.get(number)
    position = _of(content, "resume", int, optional=True)
    resent = old.resume(position) if old is not None and position is not None else None
    if old is not None and resent is not None:
        session.resend(resent)
        return _facts(session, old)
    if old is not None:
        session.drop_outlet(number)
    messages, size = (_of(content, name, int) for name in ("messages", "bytes"))
    conflate, limit = _of(content, "conflate", bool), session.window
    window = Window(max(1, min(messages, limit.messages)), max(1, min(size, limit.bytes)))
    subscriber = _attach(session, content, position)
    before = _go_to(subscriber, content, position)
    outlet = Outlet(number, subscriber, window, conflate, content.get("cursor") is not None)
    session.add_outlet(outlet)
    try:
        return _facts(session, outlet, before)
    except SlipringError:
        session.drop_outlet(number)  # the client is told that it has none
        raise


def _attach(session: Session, content: Content, position: int | None) -> Subscriber:
    topic, generation = _of(content, "topic", str), _of(content, "generation", str, optional=True)
    if generation is not None:
        check_generation(session, topic, generation)
    start = content.get("start")
    if not isinstance(start, str):
        start = _of(content, "start", int)
    if position is not None:
        start = position
    elif _of(content, "waited", bool) and not isinstance(start, int) and topic in session.bus.topics():
        start = 0  # it was there before its topic: nothing of it may be missed unnoticed
    own = _of(content, "own", int, optional=True)
    return session.bus._subscribe(
        topic,
        start,
        _of(content, "lossy", bool, optional=True),
        _of(content, "cursor", str, optional=True),
        _of(content, "conflate", bool),
        _texts(content, "types"),
        _texts(content, "ignore_types") or (),
        _texts(content, "ignore_senders") or (),
        _of(content, "expires", float, optional=True),
        None if own is None else session.inlet(own).origin.publisher._entry(),
    )


def _go_to(subscriber: Subscriber, content: Content, position: int | None) -> tuple[int, int]:
    """A cursor opens where it was committed, its client is further: what it lost before is known there."""
    if position is None or content.get("cursor") is None:
        return 0, 0
    before = subscriber.lost, subscriber.filtered
    try:
        subscriber._seek(START_SEQ, position)
    except SlipringError:
        subscriber.close()
        raise
    return before


def check_generation(session: Session, topic: str, generation: str) -> None:
    try:
        found = str(session.bus.stats(topic)["generation"])
    except TopicNotFound:
        found = ""
    if found != generation:
        raise TopicGone(f"topic {topic!r} was removed while the connection was lost")


def _facts(session: Session, outlet: Outlet, before: tuple[int, int] | None = None) -> Content:
    """How a subscription stands; before: what one that is new here had lost and filtered elsewhere."""
    _, lost, filtered, position, tail, entry, reliable = outlet.subscriber._counts()
    attached = outlet.subscriber.attached
    generation = str(session.bus.stats(outlet.subscriber.topic)["generation"]) if attached else None
    return {
        "resumed": before is None,
        "lost_before": before[0] if before else 0,
        "filtered_before": before[1] if before else 0,
        "epoch": outlet.epoch,
        "attached": attached,
        "generation": generation,
        "lost": lost,
        "filtered": filtered,
        "position": position,
        "tail": tail,
        "entry": None if entry < 0 else entry,
        "reliable": reliable,
        "window": list(outlet.window),
    }


def unsubscribe(session: Session, content: Content) -> None:
    number = _of(content, "handle", int)
    session.cancel(number)
    session.drop_outlet(number)


def seek(session: Session, content: Content) -> Content:
    outlet = session.outlet(_of(content, "handle", int))
    before = outlet.subscriber.lost, outlet.subscriber.filtered
    outlet.seek(_of(content, "start", int), _of(content, "seq", int))
    session.wake(outlet)
    return _facts(session, outlet, before)


def commit(session: Session, content: Content) -> None:
    session.outlet(_of(content, "handle", int)).subscriber.commit(_of(content, "position", int))


def look(session: Session, content: Content) -> Content:
    """How a subscription stands."""
    return _facts(session, session.outlet(_of(content, "handle", int)))


TAKEN = (Busy, TooManyReaders, TooManyWriters)
TRIED_AGAIN = ("publisher", "subscribe")
REQUESTS: dict[str, Callable[[Session, Content], Any]] = {
    function.__name__: function
    for function in (
        topics, stats, create, remove, drop_cursor, doctor, origins, publisher, subscribers, close_publisher,
        subscribe, unsubscribe, seek, commit, look,
    )
}  # fmt: skip
