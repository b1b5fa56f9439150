# SPDX-License-Identifier: Apache-2.0
"""Processes that open something in a loop, to be killed meanwhile. Each counts its rounds in a row of the board."""

import functools
from collections.abc import Callable

import slipring
from storm.board import Board


def repeated(act: Callable[[slipring.Bus], None]) -> Callable[[str, str, int], None]:
    """Make a process of the action: it repeats the action until it is killed."""

    @functools.wraps(act)
    def run(root: str, board_path: str, row: int) -> None:
        board = Board(board_path)
        bus = slipring.Bus("test", root=root)
        while True:
            act(bus)
            board.beat(row)

    return run


@repeated
def create(bus: slipring.Bus) -> None:
    bus.create("t", capacity="256KiB", delivery="reliable")


@repeated
def create_and_remove(bus: slipring.Bus) -> None:
    with bus.publisher("t", capacity="256KiB", delivery="reliable") as pub:
        pub.send(b"m")
    bus.remove("t", missing_ok=True)


@repeated
def repair(bus: slipring.Bus) -> None:
    bus.doctor(repair=True)


@repeated
def attach(bus: slipring.Bus) -> None:
    """Attach to an existing topic in every role, and detach."""
    with bus.publisher("t") as pub, bus.subscriber("t") as sub, bus.subscriber("t", lossy=True):
        pub.send(b"m", timeout=None)
        sub.recv(timeout=None)


@repeated
def attach_cursor(bus: slipring.Bus) -> None:
    with bus.subscriber("t", cursor="c", start="oldest") as sub:
        sub.recv_many(100)
        sub.commit()


@repeated
def follow(bus: slipring.Bus) -> None:
    """Subscribe to a topic that need not exist yet."""
    try:
        with bus.subscriber("t", start="oldest") as sub:
            while sub.recv(timeout=0.005) is not None:
                pass
    except slipring.TopicGone:
        pass
