# SPDX-License-Identifier: Apache-2.0
"""Mutation fuzzing of Python readers, guided by their coverage.

Inputs that reach a new step from one line to another are mutated further. The seed repeats a run.
"""

import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from fuzz import corpus
from fuzz.running import FOUND, Outcome
from support.patience import scaled

HANG_S = int(scaled(10))
EXTREMES = (
    0,
    1,
    3,
    4,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    2**63,
    2**64 - 1,
)


@dataclass
class Target:
    """A function that reads hostile bytes. ``use`` must not raise; ``modules`` are those with measured coverage."""

    name: str
    modules: tuple[str, ...]
    use: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[random.Random, bytes], bytes] = field(default=lambda dice, data: mutated(dice, data))
    clean_up: Callable[[], None] = lambda: None  # after a run


def mutated(dice: random.Random, data: bytes) -> bytes:
    """Apply one to four changes: set bytes, set words to extreme or near values, cut, double or move parts."""
    out = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(out) + 1)
        width = dice.choice((1, 2, 4, 8))
        kind = dice.randrange(7)
        if kind == 0 and place < len(out):
            out[place] = dice.randrange(256)
        elif kind == 1 and place < len(out):
            out[place] ^= 1 << dice.randrange(8)
        elif kind in (2, 3) and place + width <= len(out):
            place -= place % width
            old = int.from_bytes(out[place : place + width], "little")
            new = dice.choice(EXTREMES) if kind == 2 else old + dice.randint(-9, 9)
            out[place : place + width] = (new % (1 << 8 * width)).to_bytes(width, "little")
        elif kind == 4:
            del out[place : place + dice.choice((1, 2, 4, 8, 40))]
        elif kind == 5:
            out[place:place] = out[max(0, place - dice.choice((1, 4, 8, 40))) : place] or b"\0"
        else:
            begin = dice.randrange(len(out) + 1)
            out[place : place + 8] = out[begin : begin + 8]
    return bytes(out)


class Watch:
    """Record the steps from line to line in the modules of the target."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self.files = {sys.modules[name].__file__ for name in modules}
        self.seen: set[tuple[str, int, int]] = set()
        self.new = False

    def _line(self, frame, event, _argument, last=0):
        name = frame.f_code.co_filename
        if name not in self.files:
            return None

        def follow(frame, event, _argument, state=[frame.f_lineno]):  # noqa: B006
            step = (name, state[0], frame.f_lineno)
            state[0] = frame.f_lineno
            if step not in self.seen:
                self.seen.add(step)
                self.new = True
            return follow

        return follow

    def run(self, use: Callable[[bytes], None], data: bytes) -> bool:
        """Return whether the input reached a new step. Exceptions of ``use`` are passed on."""
        self.new = False
        sys.settrace(self._line)
        try:
            use(data)
        finally:
            sys.settrace(None)
        return self.new


def targets() -> list[str]:
    return ["envelope", "recording"]


def load(name: str) -> Target:
    from fuzz import envelope, recording

    return {"envelope": envelope, "recording": recording}[name].TARGET


def run(name: str, *, seconds: float, seed: int | None = None) -> Outcome:
    target = load(name)
    try:
        return _run(target, seconds, seed or random.randrange(1, 1 << 32))
    finally:
        target.clean_up()


def _run(target: Target, seconds: float, seed: int) -> Outcome:
    name = target.name
    dice, watch, executions = random.Random(seed), Watch(target.modules), 0
    kept = [*target.seeds(), *corpus.load(name).values()]
    queue, end = list(kept), time.monotonic() + seconds
    while queue or time.monotonic() < end:
        data = queue.pop() if queue else target.mutate(dice, dice.choice(kept))
        executions += 1
        try:
            if _guarded(watch, target, data) and data not in kept:
                kept.append(data)
        except BaseException:  # noqa: BLE001
            return Outcome(name, executions, len(watch.seen), len(kept), _failure(name, seed, data))
    return Outcome(name, executions, len(watch.seen), len(kept), "")


def _guarded(watch: Watch, target: Target, data: bytes) -> bool:
    def ring(_number, _frame):
        raise TimeoutError(f"one input took more than {HANG_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(HANG_S)
    try:
        return watch.run(target.use, data)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _failure(name: str, seed: int, data: bytes) -> str:
    place = FOUND / f"{name}-{abs(hash(data)):016x}"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return f"seed {seed}, input in {place}: {data[:2000]!r}\n{traceback.format_exc()[-3000:]}"
