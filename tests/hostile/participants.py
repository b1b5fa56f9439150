# SPDX-License-Identifier: Apache-2.0
"""Processes that use a topic while its files are damaged.

A typed error is acceptable: the process attaches again. Any other exception ends the process and fails the test. Each
process counts its calls on the board and waits briefly after each.
"""

import os
import random
import time

import slipring
from storm.board import Board

ROUND = 300  # word of the board: the number of the topic to use
SHORT_S = 0.001
PACE_S = 0.0002  # a pause, so that seven processes share two processors
RING = {"capacity": 8192, "slots": 32, "max_readers": 6, "max_cursors": 2}
BODY = b"0123456789abcdef" * 8


def publish(root: str, board_path: str, row: int, loans: bool) -> None:
    def use(bus, topic, again) -> None:
        with bus.publisher(topic, sender="participant", **RING) as pub:
            while again():
                size = dice.randrange(len(BODY))
                pub.send(BODY[:size], type="t", timeout=SHORT_S)
                pub.send_many([BODY[:size]] * 3, type="many", timeout=SHORT_S)
                pub.wait_for_subscribers(1, timeout=0)
                if loans:
                    with pub.loan(size, timeout=SHORT_S) as view:
                        view[:] = BODY[:size]

    dice = random.Random(row)
    _use_repeatedly(root, board_path, row, use)


def subscribe(root: str, board_path: str, row: int, settings: dict) -> None:
    def use(bus, topic, again) -> None:
        with bus.subscriber(topic, **settings) as sub:
            buffer = bytearray(4096)
            while again():
                sub.recv(timeout=SHORT_S)
                sub.recv_many(50)
                sub.recv_into(buffer, timeout=0)
                sub.recv_batch(50)
                with sub.view(timeout=0) as message:
                    if message is not None:
                        bytes(message.body)
                slipring.wait([sub], timeout=SHORT_S)
                sub.seek(dice.choice(["oldest", "last", "new", 0, 10]))
                sub.stats(), sub.lag, sub.lost
                if "cursor" in settings:
                    sub.commit()

    dice = random.Random(row)
    _use_repeatedly(root, board_path, row, use)


def converse(root: str, board_path: str, row: int) -> None:
    def use(bus, topic, again) -> None:
        with bus.join(topic, f"member{row}", **RING) as member:
            while again():
                member.send(BODY, timeout=SHORT_S)
                member.recv(timeout=SHORT_S)
                member.recv_many(50)

    _use_repeatedly(root, board_path, row, use)


def inspect(root: str, board_path: str, row: int) -> None:
    def use(bus, topic, again) -> None:
        while again():
            bus.topics()
            bus.doctor()
            bus.stats(topic)
            bus.cursors(topic)

    _use_repeatedly(root, board_path, row, use)


def repair(root: str, board_path: str, row: int) -> None:
    def use(bus, topic, again) -> None:
        while again():
            bus.doctor(repair=True)
            bus.create(topic, **RING)

    _use_repeatedly(root, board_path, row, use)


def execute(root: str, board_path: str, row: int, program: str) -> None:
    """Become the participant of participant.c, which is not a Python program."""
    os.execv(program, [program, os.path.join(root, "test"), board_path, str(row)])


def _use_repeatedly(root: str, board_path: str, row: int, use) -> None:
    board = Board(board_path)
    bus = slipring.Bus("test", root=root)
    while True:
        number = board.read(ROUND)

        def again(number=number) -> bool:
            board.beat(row)
            time.sleep(PACE_S)
            return board.read(ROUND) == number

        try:
            use(bus, f"t{number}", again)
        except slipring.SlipringError:
            again()
