# SPDX-License-Identifier: Apache-2.0
"""What every process of a soak has in hand: bus, journal, pulse and dice; and the leak it is told to have."""

import os
import random
from dataclasses import dataclass, field

from demo.journal import Journal

import slipring
from crash.board import Board, Pulse
from soak import cast

_LEAKED_BYTES = 64 << 10


@dataclass
class Life:
    root: str
    topic: int
    name: str
    incarnation: int
    seat: int
    board_path: str
    journal_path: str
    leak: str = ""  # seeded: "memory" or "descriptors", a little with every beat
    _leaked: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bus = slipring.Bus(cast.BUS, root=self.root)
        self.journal = Journal(self.journal_path)
        self.board = Board(self.board_path)
        self.random = random.Random(self.incarnation)
        self._pulse = Pulse(self.board, self.seat)

    @property
    def topic_name(self) -> str:
        return cast.TOPICS[self.topic]

    @property
    def sender(self) -> str:
        return f"i{self.incarnation}"

    def beat(self) -> None:
        self._pulse.beat()
        if self.leak == "memory":
            self._leaked.append(os.urandom(_LEAKED_BYTES))
        elif self.leak == "descriptors" and len(self._leaked) < 500:
            self._leaked.append(os.dup(0))
