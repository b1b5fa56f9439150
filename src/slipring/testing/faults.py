# SPDX-License-Identifier: Apache-2.0
"""Faults that a test can cause: messages lost, subscribers lapped, handles killed at a named point."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from slipring._bus.calls.client.client import Client
from slipring._bus.calls.server.server import Server
from slipring._bus.cells.ends import CellsReader, CellsWriter
from slipring._bus.frames.publisher import FramePublisher
from slipring._bus.frames.subscriber import FrameSubscriber
from slipring._bus.settings import positive
from slipring.errors import BadArgument

from .ports.handle import KILLED, OPEN, Handle
from .ports.subscriber import SteppedSubscriber

if TYPE_CHECKING:
    from .cells.cells import EndEntry
    from .ring.reader import Reader
    from .simulation import Simulation

POINTS = {
    "publisher": ("claimed", "committed"),
    "subscriber": ("received", "held"),
    "writer": ("filled", "put"),
    "reader": ("taken",),
}


MADE_OVER = {
    CellsWriter: "_end",
    CellsReader: "_end",
    FramePublisher: "_publisher",
    FrameSubscriber: "subscriber",
}


class Killable(Protocol):
    """A handle, a member, or a bus."""

    def _handles_to_kill(self) -> Iterable[Handle]: ...


def _handles(victim: Any) -> Iterable[Handle]:
    """Return the handles that are killed with it."""
    if isinstance(victim, Server):
        dispatcher: Any = victim._dispatcher
        return [
            victim._presence._publisher,
            dispatcher._requests,
            *(client._publisher for client in dispatcher._clients.values()),
        ]
    if isinstance(victim, Client):
        ends: Any = victim._connection
        return [end for end in (ends._requests, ends._replies) if end is not None]
    handles: Iterable[Handle] = getattr(victim, MADE_OVER.get(type(victim), ""), victim)._handles_to_kill()
    return handles


def _readers(simulation: Simulation, target: Any) -> list[Reader] | list[EndEntry]:
    if isinstance(target, str) and target in simulation.cells:
        return simulation.cells[target].readers
    if isinstance(target, CellsReader):
        return [
            entry
            for entry in simulation.cells[target.name].readers
            if entry is getattr(target._end, "_end_entry", None)
        ]
    if isinstance(target, str):
        return [reader for reader in simulation.topic(target).readers if reader.alive and not reader.reliable]
    subscriber = getattr(target, "subscriber", target)  # a member's
    if not isinstance(subscriber, SteppedSubscriber):
        raise TypeError(f"expected a topic's name or a subscriber, not {type(target).__name__}")
    reader = subscriber._enter()
    if reader is None:
        text = f"topic '{subscriber.topic}' does not exist yet: publish before messages can be lost"
        raise BadArgument(text, argument="target")
    if reader.reliable:
        text = "a reliable subscriber loses nothing: use a lossy one, or kill it"
        raise BadArgument(text, argument="target")
    return [reader]


def lose(simulation: Simulation, target: Any, n: int) -> None:
    """Lose the next n deliveries to these lossy subscribers."""
    for reader in _readers(simulation, target):
        reader.losing += positive("n", n)


def lap(simulation: Simulation, target: Any, keep: int) -> int:
    """Let these lossy subscribers lose all unread messages except the newest `keep`. Return how many."""
    if keep < 0:
        raise BadArgument(f"keep={keep} must be at least 0", argument="keep")
    lost = 0
    for reader in _readers(simulation, target):
        count = reader.lap(keep)
        simulation.note(f"lap {reader.label} by {count}")
        lost += count
    simulation.changed()
    return lost


def kill(simulation: Simulation, victims: Iterable[Killable], at: str | None) -> None:
    """Kill now, or when a handle reaches a named point."""
    for handle in [handle for victim in victims for handle in _handles(victim)]:
        if at is None:
            if handle._state is OPEN:
                handle._end(KILLED)
        elif at in POINTS.get(handle.kind, ()):
            handle._death = at
        else:
            points = " or ".join(f'"{point}"' for point in POINTS.get(handle.kind, ()))
            raise BadArgument(
                f"at={at!r} is not a point of a {handle.kind}: allowed are {points}", argument="at"
            )
