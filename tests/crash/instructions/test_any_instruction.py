# SPDX-License-Identifier: Apache-2.0
"""A process is killed at any instruction of any call (promise 9, invariants 4 and 8).

Other processes continue. The tables are clean after the next attach. Every message is complete or missing. One topic of
each kind is used for all kills, of which there are SLIPRING_STEP_TRIALS (default 150).
"""

import os
import random
from dataclasses import dataclass, field

import pytest

import slipring
from crash.instructions import steps
from crash.rings import RING
from storm import bodies
from storm.fork_server import ForkServer

TRIALS = int(os.environ.get("SLIPRING_STEP_TRIALS", "150"))
KINDS = [("reliable", "many"), ("reliable", "one"), ("lossy", "many")]
INSTRUCTIONS = {"loan": 5000, "abort": 5000, "view": 3000, "recv_many": 3000}
MOST_SYSTEM_CALLS = 60


@dataclass
class Survivors:
    """A subscriber that misses no message and, with many writers, a publisher that stays attached."""

    bus: slipring.Bus
    writers: str
    attached: slipring.Publisher | None = None
    counter: int = 0
    seen: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sub = self.bus.subscriber("t", start="oldest")
        if self.writers == "many":
            self.attached = self.bus.publisher("t", sender="survivor")

    def go_round_the_ring(self) -> None:
        """Send more messages than the ring holds: no claim, hold or entry of a dead process may block them."""
        pub = self.attached or self.bus.publisher("t", sender="survivor")
        for _ in range(20):
            self.counter += 1
            pub.send(bodies.make(bodies.identity(1, self.counter), steps.SIZE), timeout=60)
            self.read()
        if pub is not self.attached:
            pub.close()

    def read(self) -> None:
        for message in self.sub.recv_many(100):
            opened = bodies.open_body(message.body)
            assert opened is not None, "a message arrived torn"
            life, counter = bodies.sender_of(opened[0])
            assert life == {"survivor": 1, "doomed": steps.LIFE}[message.sender], message
            assert (life, counter) not in self.seen, "a message came twice"
            self.seen.add((life, counter))
            if life == 1:
                assert (1, counter - 1) in self.seen or counter == 1, "a committed message was lost"

    def tables_are_clean_after_the_next_attach(self) -> None:
        self.bus.publisher("t").close()
        self.bus.subscriber("t").close()
        stats = self.bus.stats("t")
        assert all(entry["pid"] == os.getpid() for entry in stats["publishers"] + stats["readers"]), stats
        assert stats["published"] + stats["abandoned"] == stats["tail"], stats
        assert self.sub.received == len(self.seen) == stats["published"] - self.sub.lag, stats
        assert self.sub.lost == 0
        assert self.bus.doctor() == []


@pytest.mark.timeout(600 + TRIALS)
@pytest.mark.parametrize(("delivery", "writers"), KINDS)
def test_process_killed_at_any_instruction_of_any_call_disturbs_nobody(bus, bus_root, delivery, writers):
    bus.create("t", delivery=delivery, writers=writers, max_readers=4, max_cursors=1, **RING)
    calls = [*steps.PUBLISHING, *steps.SUBSCRIBING, *steps.OPENING]
    survivors = Survivors(bus, writers)
    killed = 0
    with ForkServer(preload=["crash.instructions.steps"]) as server:
        for number in range(TRIALS // len(KINDS)):
            call = calls[number % len(calls)]
            opening = call in steps.OPENING
            child = server.start(
                "crash.instructions.steps:doom",
                root=str(bus_root),
                call=call,
                number=number,
                system_calls=random.randrange(MOST_SYSTEM_CALLS) if opening else 0,
                instructions=random.randrange(600 if opening else INSTRUCTIONS.get(call, 1500)),
            )
            code = child.join()
            assert code in (0, steps.COMPLETED), f"{call} ended with {code}\n{server.errors()}"
            killed += code == 0
            if bus.cursors("t"):
                bus.drop_cursor("t", "c")  # its hold would block the publisher, as specified
            survivors.go_round_the_ring()
            bus.create("other", **RING)  # the next creator removes the files of a killed one
            bus.remove("other")
            survivors.tables_are_clean_after_the_next_attach()
    print(f"{killed} of {number + 1} killed in mid-call")
    assert killed > number // 2
