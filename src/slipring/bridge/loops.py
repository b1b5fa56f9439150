# SPDX-License-Identifier: Apache-2.0
"""Mirrors must not run in circles.

Every place in a ledger says where its messages come from, directly or through other mirrors. A mirror refuses
a target its source comes from, when it starts and every few seconds afterwards, and passes on what it finds,
so that a circle of any length is noticed by one of its mirrors, wherever they run.
"""

from __future__ import annotations

from slipring._bus import directory
from slipring._bus.bus import Bus
from slipring.errors import BadArgument

from . import ledger
from .bus import RemoteBus
from .door import identity_of


def node(bus: Bus, topic: str) -> str:
    """A topic of a bus, the same name on every host."""
    if isinstance(bus, RemoteBus):
        return f"{bus.identity}/{topic}"
    directory.make(bus.root, bus.path)
    return f"{identity_of(bus)}/{topic}"


def upstream_of(bus: Bus, topic: str, state: str | None) -> set[str]:
    """The topic, and all it is fed from by mirrors."""
    found = {node(bus, topic)}
    if isinstance(bus, RemoteBus):
        origins = bus.origins(topic)
    else:
        origins = ledger.origins(ledger.directory_of(bus, state), topic)
    for about in origins:
        upstream = about.get("upstream")
        if isinstance(upstream, list):
            found.update(str(place) for place in upstream)
    return found


def without_host(node: str) -> str:
    """The node without its host's name, which may change."""
    host, _, place = node.partition(":")
    return f"{host.partition('@')[0]}:{place}"


def _is_same(one: str, other: str) -> bool:
    """By boot id, which containers of one host share; by host name where one of the two is unknown."""
    (host, _, place), (other_host, _, other_place) = one.partition(":"), other.partition(":")
    (booted, _, name), (other_booted, _, other_name) = host.partition("@"), other_host.partition("@")
    if place != other_place:
        return False
    return booted == other_booted if booted and other_booted else name == other_name


def refuse_circle(upstream: set[str], target: Bus, topic: str) -> None:
    here = node(target, topic)
    if any(_is_same(here, above) for above in upstream):
        raise BadArgument(
            f"mirroring to topic {topic!r} of {target.path} would run in a circle: the source is fed from it",
            argument="topics",
        )
