# SPDX-License-Identifier: Apache-2.0
"""Mirrors must not form a cycle.

Each origin file lists its upstream: the topics its messages come from, directly or through other mirrors. A mirror
refuses a target that its source is fed from, when it starts and every few seconds afterwards. It adds what it
finds to its own upstream, so one mirror of any cycle notices it, wherever they run.
"""

from __future__ import annotations

from slipring._bus import directory
from slipring._bus.bus import Bus
from slipring.errors import BadArgument

from .. import origin_files
from ..client.bus import RemoteBus
from ..identity import identity_of, is_same


def node(bus: Bus, topic: str) -> str:
    """Return a name for a topic of a bus that is the same on every host."""
    if isinstance(bus, RemoteBus):
        return f"{bus.identity}/{topic}"
    directory.make(bus.root, bus.path)
    return f"{identity_of(bus)}/{topic}"


def upstream_of(bus: Bus, topic: str, state: str | None) -> set[str]:
    """Return the topic, and all topics that mirrors feed it from."""
    found = {node(bus, topic)}
    if isinstance(bus, RemoteBus):
        origins = bus.origins(topic)
    else:
        origins = origin_files.origins(origin_files.directory_of(bus, state), topic)
    for about in origins:
        upstream = about.get("upstream")
        if isinstance(upstream, list):
            found.update(str(above) for above in upstream)
    return found


def refuse_cycle(upstream: set[str], target: Bus, topic: str) -> None:
    here = node(target, topic)
    if any(is_same(here, above) for above in upstream):
        raise BadArgument(
            f"mirroring to topic {topic!r} of {target.path} would form a cycle: the source is already fed from it",
            argument="topics",
        )
