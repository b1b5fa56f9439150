# SPDX-License-Identifier: Apache-2.0
"""SteppedBus: a bus in one process that a test drives step by step."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

from slipring._bus.bus import Bus

from .cells_store import SteppedStore
from .clock import START_NS
from .driven import Driven
from .frame_store import SteppedFrames
from .handle import Handle, InOrder
from .inventory import Inventory
from .member import SteppedMember
from .publisher import SteppedPublisher
from .reader import Wish
from .subscriber import SteppedSubscriber
from .world import World

if TYPE_CHECKING:
    from slipring._bus.publisher import Publisher
    from slipring._bus.subscriber import Subscriber

    from .calls_runtime import SteppedRuntime
    from .pattern_subscriber import SteppedPatternSubscriber

Result = TypeVar("Result")


class SteppedBus(Driven, Inventory, Bus):
    """A bus like `slipring.Bus`, for tests: one process, virtual time, and the same order on every run.

    Messages are in flight until they are delivered: by `step`, one at a time; by `run_until_idle`, all; or by
    any call that waits. `automatic=True` delivers each message as it is sent. The seed chooses between
    deliveries that do not depend on each other. Nothing is shared with other buses, not even with those of
    the same name.
    """

    _member = SteppedMember

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return object.__new__(cls)  # whatever Bus makes of a name

    def __init__(
        self, name: str = "test", *, seed: int | str = 0, automatic: bool = False, start_ns: int = START_NS
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        self._check_text("name", name)
        self._open(name, World(seed, automatic, start_ns), owner=True)

    def _open(self, name: str, world: World, *, owner: bool) -> None:
        self.name = name
        self.root = "stepped:"
        self.path = f"stepped:{name}"
        self.clock = world.clock
        self._world = world
        self._owner = owner
        self._closed = False
        self._made: weakref.WeakSet[Handle] = weakref.WeakSet()
        self._handles = InOrder()  # what was made over them
        self._services = InOrder()

    def process(self) -> SteppedBus:
        """The same bus as another process would open it: its handles can be closed or killed together."""
        other = SteppedBus.__new__(SteppedBus)
        other._open(self.name, self._world, owner=False)
        return other

    # What Bus does with files: see also inventory.py

    def _cells_store(self) -> SteppedStore:
        return SteppedStore(self._world, self._made.add)

    def _frame_store(self) -> SteppedFrames:
        return SteppedFrames(self)

    def _calls_runtime(self) -> SteppedRuntime:
        from .calls_runtime import SteppedRuntime

        return SteppedRuntime(self)

    def _publisher(self, topic: str, sender: str, given: dict[str, int]) -> Publisher:
        self._make(topic, given, True)
        publisher = SteppedPublisher(self._world, self._world.topics[topic], sender)
        self._made.add(publisher)
        return cast("Publisher", publisher)  # the same methods, another class

    def _subscriber(self, topic: str, arguments: tuple[Any, ...]) -> Subscriber:
        subscriber = SteppedSubscriber(self._world, topic, Wish(*arguments))
        self._made.add(subscriber)
        return cast("Subscriber", subscriber)

    def _pattern_class(self) -> type[SteppedPatternSubscriber]:
        from .pattern_subscriber import SteppedPatternSubscriber

        return SteppedPatternSubscriber

    def close(self) -> None:
        """Close every handle made from this bus; their waits end with Closed, and so do spawned functions."""
        for service in list(self._services):
            service.close()
        self._closed = True
        for handle in self._mortals():
            handle.close()
        for made_over in list(self._handles):
            made_over.close()
        if self._owner:
            self._world.scheduler.finish()

    def _mortals(self) -> list[Handle]:
        return sorted(self._made, key=lambda handle: handle._number)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a SteppedBus cannot be pickled: it is one process's; give a real Bus to another process"
        )

    def __repr__(self) -> str:
        return f"<SteppedBus {self.name!r} seed={self.seed!r} at {self.clock.monotonic()} s>"


SteppedBus.__module__ = "slipring.testing"
