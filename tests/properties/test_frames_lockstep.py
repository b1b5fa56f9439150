# SPDX-License-Identifier: Apache-2.0
"""The same random calls on frames in shared memory and on a stepped bus: every outcome and every count is equal."""

import tempfile

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import slipring
from slipring.testing import SteppedBus
from support import leaks

GEOMETRIES = [
    {"shape": (4,), "buffers": 2},
    {"shape": (2, 3), "dtype": "<u2", "buffers": 3},
    {"shape": (5,), "streams": ("a", "b"), "buffers": 2},
    {"streams": {"b": ((3,), "f4", 1), "main": ((4,), "u1", 3)}},
]
PICK = st.integers(0, 100)


class Side:
    """One bus, its publisher, its subscribers, and the arrays that are still held."""

    def __init__(self, bus) -> None:
        self.bus, self.pub = bus, None
        self.subs, self.held = [], []

    def publish(self, number: int) -> object:
        if self.pub is not None:
            self.pub.close()
        self.pub = None
        self.pub = self.bus.frames("cam", **GEOMETRIES[number]).publisher()
        return self.pub.streams

    def send(self, which: int, value: int, fails: bool) -> object:
        filling = self.pub.frame(self.pub.streams[which % len(self.pub.streams)], meta=value)
        try:
            with filling as array:
                array[...] = value % 200
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            return "aborted"
        return filling.id, filling.seq

    def subscribe(self, stream: str | None, conflate: bool, start: str) -> object:
        self.subs.append(self.bus.frames("cam").subscriber(stream, conflate, start=start))
        return self.subs[-1].attached

    def receive(self, which: int, keep: bool) -> object:
        with self.subs[which % len(self.subs)].recv(0) as frame:
            if frame is None:
                return None
            if keep:
                self.held.append(frame.array)
            what = frame.id, frame.seq, frame.run, frame.stream, frame.meta, frame.array.dtype.str
            return *what, frame.array.tolist()

    def release(self, which: int) -> None:
        del self.held[which % len(self.held)]

    def leave(self, which: int) -> None:
        self.subs.pop(which % len(self.subs)).close()

    def facts(self) -> object:
        counts = [(sub.received, sub.lost, sub.filtered, sub.streams) for sub in self.subs]
        arrays = [array.tolist() for array in self.held]
        return counts, arrays, self.bus.frames("cam").streams()

    def close(self) -> None:
        self.held.clear()
        self.subs.clear()
        self.bus.close()


class FramesLockstep(RuleBasedStateMachine):
    @initialize(number=st.integers(0, len(GEOMETRIES) - 1), early=st.booleans())
    def begin(self, number: int, early: bool) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix=leaks.SESSION_PREFIX, dir=leaks.SHM)
        buses = slipring.Bus("test", root=self.folder.name), SteppedBus(automatic=True)
        self.sides = [Side(bus) for bus in buses]
        self.value = 0
        if early:
            self.both("subscribe", None, False, "new")
        self.both("publish", number)

    def both(self, call: str, *arguments) -> object:
        outcomes = []
        for side in self.sides:
            try:
                outcomes.append(("returned", getattr(side, call)(*arguments)))
            except slipring.SlipringError as error:
                outcomes.append(("raised", type(error).__name__, error.argument, str(error)))
        assert outcomes[0] == outcomes[1], call
        return outcomes[0]

    @precondition(lambda self: self.sides[0].pub is not None)
    @rule(which=PICK, count=st.integers(1, 6), fails=st.sampled_from([False, False, False, True]))
    def send(self, which: int, count: int, fails: bool) -> None:
        for _ in range(count):
            self.value += 1
            self.both("send", which, self.value, fails)

    @precondition(lambda self: len(self.sides[0].subs) < 4)
    @rule(
        stream=st.sampled_from([None, None, "a", "b", "main"]),
        conflate=st.booleans(),
        start=st.sampled_from(["new", "last", "oldest"]),
    )
    def subscribe(self, stream, conflate: bool, start: str) -> None:
        self.both("subscribe", stream, conflate, start)

    @precondition(lambda self: self.sides[0].subs)
    @rule(which=PICK, count=st.integers(1, 4), keep=st.booleans())
    def receive(self, which: int, count: int, keep: bool) -> None:
        for _ in range(count):
            self.both("receive", which, keep)

    @precondition(lambda self: self.sides[0].held)
    @rule(which=PICK)
    def release(self, which: int) -> None:
        self.both("release", which)

    @precondition(lambda self: self.sides[0].subs)
    @rule(which=PICK)
    def leave(self, which: int) -> None:
        self.both("leave", which)

    @rule(number=st.integers(0, len(GEOMETRIES) - 1))
    def restart(self, number: int) -> None:
        self.both("publish", number)

    @precondition(lambda self: hasattr(self, "sides"))
    @invariant()
    def accounts_agree(self) -> None:
        self.both("facts")

    def teardown(self) -> None:
        for side in getattr(self, "sides", ()):
            side.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestFramesLockstep = FramesLockstep.TestCase
TestFramesLockstep.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
