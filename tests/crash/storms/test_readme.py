# SPDX-License-Identifier: Apache-2.0
"""The programs of README: publisher and subscriber are killed repeatedly, and only the killed one is affected."""

import random
import time

import pytest

import slipring
from crash.storms.storm import SECONDS
from storm.board import Board
from storm.fork_server import ForkServer
from support.waiting import eventually

KILLS = max(400, round(10 * SECONDS))
PUBLISHER, SUBSCRIBER = 0, 1


def publish(root: str, board_path: str) -> None:
    board = Board(board_path)
    bus = slipring.Bus("robot", root=root)
    pub = bus.publisher("imu", sender="gyro")
    while True:
        pub.send(b"0.01 0.02 9.81", type="imu.v1")
        board.beat(PUBLISHER)


def subscribe(root: str, board_path: str) -> None:
    board = Board(board_path)
    bus = slipring.Bus("robot", root=root)
    for message in bus.subscriber("imu"):
        assert (message.body, message.sender, message.type) == (b"0.01 0.02 9.81", "gyro", "imu.v1")
        board.beat(SUBSCRIBER)


@pytest.mark.timeout(600 + KILLS)
@pytest.mark.parametrize("first", ["publisher first", "subscriber first"])
def test_publisher_and_subscriber_killed_hundreds_of_times_affect_only_themselves(bus_root, tmp_path, first):
    board = Board(tmp_path / "board")
    config = {"root": str(bus_root), "board_path": str(tmp_path / "board")}
    targets = {
        PUBLISHER: "crash.storms.test_readme:publish",
        SUBSCRIBER: "crash.storms.test_readme:subscribe",
    }
    with ForkServer(preload=["crash.storms.test_readme"]) as server:
        order = (PUBLISHER, SUBSCRIBER) if first == "publisher first" else (SUBSCRIBER, PUBLISHER)
        alive = {role: server.start(targets[role], **config) for role in order}

        def expect_progress(*roles: int) -> None:
            before = {role: board.beats(role) for role in roles}
            for role in roles:
                eventually(
                    lambda role=role: board.beats(role) > before[role] or not alive[role].alive, targets[role]
                )
                assert alive[role].alive, f"{targets[role]}: {alive[role].join()}\n{server.errors()}"

        expect_progress(PUBLISHER, SUBSCRIBER)
        for _ in range(KILLS // 2):
            victim = random.choice(order)
            time.sleep(random.random() * 0.01)  # chooses a random instant; synchronises nothing
            alive[victim].kill()
            if victim == SUBSCRIBER:
                expect_progress(PUBLISHER)
            alive[victim] = server.start(targets[victim], **config)
            expect_progress(PUBLISHER, SUBSCRIBER)
        for child in alive.values():
            child.kill()
    board.close()
    with slipring.Bus("robot", root=str(bus_root)) as bus:
        bus.publisher("imu").close()
        bus.subscriber("imu").close()
        stats = bus.stats("imu")
        assert (stats["publishers"], stats["readers"]) == ([], [])
        assert bus.doctor() == []
        assert {path.name for path in (bus_root / "robot").iterdir()} == {"imu.ring", "imu.readers"}
