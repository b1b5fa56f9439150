# SPDX-License-Identifier: Apache-2.0
"""An end of cells is killed at any instruction of any call (promise 21, invariants C1 to C5).

The other end and the successor continue. Elements are read whole, in order, once, and are accounted for.
"""

import random

import pytest

from crash.instructions import steps
from crash.instructions.test_any_instruction import MOST_SYSTEM_CALLS, TRIALS
from storm.fork_server import ForkServer

CALLS = [*steps.WRITING_CELLS, *steps.READING_CELLS, *steps.OPENING_CELLS]


class LivingEnd:
    """The end that is not killed. It is opened before the other."""

    def __init__(self, bus, depth: int) -> None:
        self.bus = bus
        self.cells = bus.cells("c", size=96, depth=depth)
        self.newest = -1  # sequence of the newest element seen
        self.survivor = None

    def prepare(self, call: str) -> None:
        writer_dies = call in (*steps.WRITING_CELLS, "open writer")
        with self.cells.writer() as writer:
            for _ in range(self.cells.depth + 2):
                self.put(writer)
        self.survivor = self.cells.reader() if writer_dies else self.cells.writer()
        if writer_dies and random.random() < 0.5:
            self.read(self.survivor)

    def put(self, writer) -> None:
        seq = self.cells.stats()["puts"]
        assert writer.put(steps.element(seq)) == seq

    def read(self, reader) -> None:
        values = reader.snapshot()
        for value in values:
            number = int.from_bytes(value[:8], "little")
            assert value == steps.element(number), "torn"
            assert number > self.newest, "seen twice, or out of order"
            self.newest = number

    def judge(self) -> None:
        writing = hasattr(self.survivor, "put")
        writer = self.survivor if writing else self.cells.writer()
        reader = self.cells.reader() if writing else self.survivor
        self.read(reader)
        for _ in range(2 * self.cells.depth + 1):
            self.put(writer)
        self.read(reader)
        stats = self.cells.stats()
        assert self.newest + 1 == stats["puts"] == stats["position"], stats
        assert stats["received"] + stats["lost"] + stats["skipped"] == stats["position"], stats
        writer.close()
        reader.close()
        assert self.bus.doctor() == []


@pytest.mark.timeout(600 + TRIALS)
@pytest.mark.parametrize("depth", [1, 3])
def test_an_end_killed_at_any_instruction_disturbs_nobody(bus, bus_root, depth):
    living, killed = LivingEnd(bus, depth), 0
    with ForkServer(preload=["crash.instructions.steps"]) as server:
        for trial in range(TRIALS // 2):
            call = CALLS[trial % len(CALLS)]
            living.prepare(call)
            opening = call in steps.OPENING_CELLS
            child = server.start(
                "crash.instructions.steps:doom",
                root=str(bus_root),
                call=call,
                number=living.cells.stats()["puts"],
                system_calls=random.randrange(MOST_SYSTEM_CALLS) if opening else 0,
                instructions=random.randrange(600 if opening else 2500 if call == "fill" else 700),
            )
            code = child.join()
            assert code in (0, steps.COMPLETED), f"{call} ended with {code}\n{server.errors()}"
            killed += code == 0
            living.judge()
            bus.remove("other", missing_ok=True)
    print(f"{killed} of {trial + 1} killed in mid-call")
    assert killed > trial // 4
