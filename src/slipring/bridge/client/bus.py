# SPDX-License-Identifier: Apache-2.0
"""RemoteBus: a bus of another host, with the methods of Bus. Made by `slipring.Bus("zmq+tcp://host:port/bus")`."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, cast

from slipring._bus import settings
from slipring._bus.bus import Bus
from slipring._bus.directory import default_root
from slipring._bus.publisher import Publisher
from slipring._bus.settings import SubscriberSettings
from slipring._bus.subscriber import Subscriber
from slipring._bus.typed.subscriber_reading import Reading
from slipring.errors import BadArgument, Closed, PeerGone, Timeout

from .. import address as addresses
from .. import schemas
from ..wire import Window
from .link import Link
from .publisher import RemotePublisher
from .subscriber import RemoteSubscriber

if TYPE_CHECKING:
    from slipring._bus.schema.topic_schema import Schema


def _address(name: str, root: str | os.PathLike[str] | None) -> addresses.Address:
    """Return the address that the name is, or that of the root with the name appended."""
    if "://" in name:
        return addresses.parse(name)
    base, mark, query = (default_root() if root is None else os.fspath(root)).partition("?")
    return addresses.parse(f"{base.rstrip('/')}/{name}{mark}{query}")


class RemoteBus(Bus):
    """A set of topics on another host."""

    def __init__(self, name: str, *, root: str | os.PathLike[str] | None = None) -> None:
        self._address = _address(name, root)
        self.name = self._address.bus
        self.root = f"{addresses.SCHEME}://{self._address.host}:{self._address.port}"
        self.path = str(self._address)
        settings.check_text("name", self.name)
        self._remote_handles: weakref.WeakSet[RemotePublisher | RemoteSubscriber] = weakref.WeakSet()
        self._handles = weakref.WeakSet()  # made over these
        self._closed = False
        self._link = Link(self._address)
        self._end = weakref.finalize(self, self._link.close)
        self._link.open()

    @property
    def connected(self) -> bool:
        """Whether there is a connection now."""
        return self._link.connected

    @property
    def identity(self) -> str:
        """The identity of the bus, the same through every server that exports it."""
        return str(self._link.welcome.get("identity", ""))

    def _topic(self, topic: str) -> str:
        name = super()._topic(topic)
        self._link.check()
        return name

    # Topics

    def _create(self, topic: str, given: dict[str, Any], exist_ok: bool) -> None:
        settings.topic_settings(**given)  # the server gets them as they are
        sent = self._sent(given)
        self._link.request("create", again=exist_ok, topic=topic, settings=sent, exist_ok=bool(exist_ok))

    def _sent(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of a topic as they are sent."""
        if given.get("schema") is None:
            return given
        if not self._link.welcome.get("schemas"):
            text = f"the bridge at {self._address} is older and knows no schemas: update it, or omit schema="
            raise BadArgument(text, argument="schema")
        return {**given, "schema": schemas.to_text(given["schema"])}

    def _stored(self, topic: str) -> bytes | None:
        if not self._link.welcome.get("schemas"):
            self.stats(topic)  # raises if there is none
            return None
        return schemas.stored(self._link.request("schema", topic=topic), topic)

    def remove(self, topic: str, missing_ok: bool = False) -> None:
        self._link.request("remove", again=missing_ok, topic=self._topic(topic), missing_ok=bool(missing_ok))

    def topics(self) -> list[str]:
        if self._closed:
            raise Closed("this bus is closed")
        return [str(name) for name in self._link.request("topics")]

    def contents(self) -> dict[str, str]:
        """Return the topics. A remote bus has no cells."""
        return dict.fromkeys(self.topics(), "topic")

    # For subscribers of patterns: to look at what is there costs a request.
    _look_every_s = 0.5
    _awaits_patterns = False

    def _identities(self, stamp: object) -> tuple[object, dict[str, int] | None]:
        try:
            return None, dict.fromkeys(self.topics(), 0)
        except (PeerGone, Timeout):
            return None, None  # the connection comes back

    def _identity(self, topic: str) -> int | None:
        return 0

    def stats(self, topic: str) -> dict[str, Any]:
        facts: dict[str, Any] = self._link.request("stats", topic=self._topic(topic))
        return facts

    def drop_cursor(self, topic: str, name: str) -> None:
        settings.check_text("cursor", name)
        self._link.request("drop_cursor", again=False, topic=self._topic(topic), cursor=name)

    def doctor(self, repair: bool = False) -> list[dict[str, str]]:
        if self._closed:
            raise Closed("this bus is closed")
        findings: list[dict[str, str]] = self._link.request("doctor", repair=bool(repair))
        return findings

    def origins(self, topic: str) -> list[dict[str, Any]]:
        """Return the origins that publish into a topic."""
        found: list[dict[str, Any]] = self._link.request("origins", topic=self._topic(topic))
        return found

    # What is of one host

    def _of_one_host(self, *args: Any, **kwargs: Any) -> NoReturn:
        text = f"cells, frames and calls work on one host only, and {self!r} is on another: open them there"
        raise BadArgument(text, argument="bus")

    cells = frames = server = client = _of_one_host

    # Handles

    def _open_publisher(self, topic: str, sender: str, given: dict[str, Any], exist_ok: bool) -> Publisher:
        settings.topic_settings(**given)
        self._topic(topic)
        if not exist_ok:
            self._create(topic, given, False)
        publisher = RemotePublisher(self, self._link, topic, sender, self._sent(given))
        self._remote_handles.add(publisher)
        return cast(Publisher, publisher)  # another class with all its methods

    def _origin_publisher(
        self, topic: str, sender: str, settings: dict[str, Any], origin: str, schema: Schema | None
    ) -> RemotePublisher:
        """A publisher that a mirror numbers, and continues after a restart."""

        def opened(given: dict[str, Any]) -> RemotePublisher:
            return RemotePublisher(self, self._link, topic, sender, self._sent(given), origin=origin)

        return self._open_typed(topic, schema, settings, opened)

    def _subscribe(self, topic: str, given: SubscriberSettings) -> Subscriber:
        _, lossy, cursor, conflate, types, ignore_types, ignore_senders, expires, own, _ = given.checked()
        window, reading = Window(), Reading(given.schema)
        opening = {
            "start": settings.start_name(given.start),
            "lossy": lossy,
            "cursor": cursor,
            "conflate": conflate,
            "types": None if types is None else list(types),
            "ignore_types": list(ignore_types),
            "ignore_senders": list(ignore_senders),
            "expires": None if expires is None else float(expires),
            "own": None if own is None else own[0],
            "schema": None if reading.own is None else schemas.to_text(reading.own.to_bytes()),
            "waited": False,
            "messages": window.messages,
            "bytes": window.bytes,
        }
        subscriber = RemoteSubscriber(self, self._link, self._topic(topic), opening, reading)
        self._remote_handles.add(subscriber)
        return cast(Subscriber, subscriber)

    def close(self) -> None:
        """Close every handle made from this bus, and the connection."""
        if self._closed:
            return
        self._closed = True
        handles = [*self._remote_handles, *self._handles]
        for handle in sorted(handles, key=lambda handle: not isinstance(handle, RemotePublisher)):
            handle.close()  # publishers first: what a leaving reader makes room for is not sent any more
        self._end()

    def __reduce__(self) -> Any:
        """As its address; keys as the names of their files. The copy connects by itself."""
        if self._closed:
            raise Closed("this bus is closed")
        return type(self), (self._address.with_options(),)

    def __repr__(self) -> str:
        return f"<RemoteBus {self.path}>"
