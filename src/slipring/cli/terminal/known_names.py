# SPDX-License-Identifier: Apache-2.0
"""Existing names: buses of a root, topics, cursors and services of a bus; and corrections of mistyped names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import slipring
from slipring._bus import directory, settings

# Longer or unusual names are not offered to a shell: the name of a cursor comes from a file that may be hostile.
_PLAIN = re.compile(r"[\w.-]{1,100}", re.ASCII)
_FILE = re.compile(r"[\w.,+@%-]+")  # need no quotes in a shell
_CALLS = ".calls"
_PATIENCE_S = 1
LAKE_MARKER = "_slipring.json"  # pipelines.lake.marker, whose import is too slow for completion


def buses(root: str | None) -> list[str]:
    """Return the readable buses under a root: directories with topics or cells, and empty directories."""
    place = directory.default_root() if root is None else root
    if "://" in place:
        return []  # on another host, which does not list its buses
    return [name for name in directory.listed(place) if _is_bus(place, name)]


def _is_bus(root: str, name: str) -> bool:
    try:
        with slipring.Bus(name, root=root) as bus:
            return bool(bus.contents()) or (os.path.isdir(bus.path) and not os.listdir(bus.path))
    except (slipring.SlipringError, OSError):
        return False  # not a name of a bus, not a directory, or not readable


def topics(name: str, root: str | None) -> list[str]:
    """Return the topics of a bus; none if it cannot be read, or is on another host that does not answer at once."""
    try:
        with slipring.Bus(_quick(name), root=None if root is None else _quick(root)) as bus:
            return bus.topics()
    except (slipring.SlipringError, ImportError):
        return []


def _quick(address: str) -> str:
    """Return an address with a short connect_timeout, and a name unchanged."""
    if "://" not in address:
        return address
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={_PATIENCE_S}"


def lakes(typed: str) -> tuple[list[str], list[str]]:
    """Return the lakes and other directories whose paths begin with the typed text; a lake contains no other."""
    shown, _, name = typed.rpartition("/")
    shown += "/" * ("/" in typed)
    place = os.path.expanduser(shown) or "."
    if _is_lake(place):
        return [], []
    found: tuple[list[str], list[str]] = [], []
    try:
        entries = directory.listed(place)
    except slipring.SlipringError:
        return found
    for entry in entries:
        path = os.path.join(place, entry)
        is_wanted = entry.startswith(name) and (name or not entry.startswith(".")) and _FILE.fullmatch(entry)
        if is_wanted and os.path.isdir(path):
            found[not _is_lake(path)].append(shown + entry)
    return found


def _is_lake(path: str) -> bool:
    return os.path.exists(os.path.join(path, LAKE_MARKER))


def contents(name: str, root: str | None) -> list[str]:
    """Return the topics and cells of a bus; none if it cannot be read."""
    try:
        with slipring.Bus(name, root=root) as bus:
            return list(bus.contents())
    except slipring.SlipringError:
        return []


def services(of: Iterable[str]) -> list[str]:
    """Return the services among the topics: those that were called or served."""
    return [topic.removesuffix(_CALLS) for topic in of if topic.endswith(_CALLS)]


def cursors(name: str, root: str | None, of: Iterable[str]) -> list[str]:
    """Return the names of the cursors of some topics, each once."""
    found: set[str] = set()
    for topic in of:
        try:
            with slipring.Bus(name, root=root) as bus:
                found.update(cursor["name"] for cursor in bus.cursors(topic))
        except slipring.SlipringError:
            continue
    return sorted(cursor for cursor in found if _PLAIN.fullmatch(cursor))


def close(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``, ignoring case; None if no name is similar."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def suggestion(bus: slipring.Bus, topic: str) -> str:
    """Return a hint at the intended topic when a topic does not exist; empty without a similar name."""
    try:
        return _suggestion(bus, topic)
    except slipring.SlipringError:
        return ""  # a hint must not cause another error


def _suggestion(bus: slipring.Bus, topic: str) -> str:
    having = [name for name in buses(bus.root) if name != bus.name and topic in contents(name, bus.root)]
    if having:
        return f"bus {having[0]!r} has one: use --bus {having[0]}"
    here = bus.contents()
    if found := close(topic, here):
        return f"did you mean {found!r}?"
    return "" if here else other_buses(bus)


def awaited(bus: slipring.Bus, topic: str) -> str:
    """Return the message for a reader whose topic does not exist yet."""
    if settings.is_pattern(topic):
        return f"waiting for a topic that matches {topic!r} to appear"
    hint = suggestion(bus, topic)
    return f"waiting for topic {topic!r} to appear" + (f"; {hint}" if hint else "")


def other_buses(bus: slipring.Bus) -> str:
    """Return a clause that names the other buses of the same root; empty if there are none."""
    others = [repr(name) for name in buses(bus.root) if name != bus.name and contents(name, bus.root)]
    if not others:
        return ""
    named = ", ".join(others[:10]) + (f" and {len(others) - 10} more" if len(others) > 10 else "")
    return f"the buses with topics are {named}: --bus or SLIPRING_BUS chooses one"


@contextmanager
def hinted(bus: slipring.Bus, topic: str) -> Iterator[None]:
    """Add a hint at the intended topic to a TopicNotFound of the block; `error_text.describe` shows it."""
    try:
        yield
    except slipring.TopicNotFound as error:
        if error.argument == "topic" and (hint := suggestion(bus, topic)):
            error.add_note(hint)
        raise


@contextmanager
def hinted_service(bus: slipring.Bus, service: str) -> Iterator[None]:
    """Add a hint at the intended service to an error about a service without a server."""
    try:
        yield
    except slipring.PeerGone as error:
        if (meant := close(service, services(bus.topics()))) and meant != service:
            error.add_note(f"did you mean {meant!r}?")
        raise
