# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed while they open something, and how far they came: a word each on the board."""

import slipring
from crash.board import Board


def create(root: str, board_path: str, seat: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        bus.create("t", capacity="256KiB", delivery="reliable")
        board.beat(seat)


def create_and_remove(root: str, board_path: str, seat: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        with bus.publisher("t", capacity="256KiB", delivery="reliable") as pub:
            pub.send(b"m")
        bus.remove("t", missing_ok=True)
        board.beat(seat)


def repair(root: str, board_path: str, seat: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        bus.doctor(repair=True)
        board.beat(seat)


def attach(root: str, board_path: str, seat: int) -> None:
    """Attaches and detaches for ever in every role, to a topic that exists."""
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        with bus.publisher("t") as pub, bus.subscriber("t") as sub, bus.subscriber("t", lossy=True):
            pub.send(b"m", timeout=None)
            sub.recv(timeout=None)
        board.beat(seat)


def attach_cursor(root: str, board_path: str, seat: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        with bus.subscriber("t", cursor="c", start="oldest") as sub:
            sub.recv_many(100)
            sub.commit()
        board.beat(seat)


def follow(root: str, board_path: str, seat: int) -> None:
    """Subscribes before the topic exists, again and again."""
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        try:
            with bus.subscriber("t", start="oldest") as sub:
                while sub.recv(timeout=0.005) is not None:
                    pass
        except slipring.TopicGone:
            pass
        board.beat(seat)
