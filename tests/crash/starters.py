# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed while they open something, and how far they came: a row each on the board."""

import slipring
from storm.board import Board


def create(root: str, board_path: str, row: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        bus.create("t", capacity="256KiB", delivery="reliable")
        board.beat(row)


def create_and_remove(root: str, board_path: str, row: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        with bus.publisher("t", capacity="256KiB", delivery="reliable") as pub:
            pub.send(b"m")
        bus.remove("t", missing_ok=True)
        board.beat(row)


def repair(root: str, board_path: str, row: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        bus.doctor(repair=True)
        board.beat(row)


def attach(root: str, board_path: str, row: int) -> None:
    """Attaches and detaches forever in every role, to a topic that exists."""
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        with bus.publisher("t") as pub, bus.subscriber("t") as sub, bus.subscriber("t", lossy=True):
            pub.send(b"m", timeout=None)
            sub.recv(timeout=None)
        board.beat(row)


def attach_cursor(root: str, board_path: str, row: int) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        with bus.subscriber("t", cursor="c", start="oldest") as sub:
            sub.recv_many(100)
            sub.commit()
        board.beat(row)


def follow(root: str, board_path: str, row: int) -> None:
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
        board.beat(row)
