# SPDX-License-Identifier: Apache-2.0
"""Every word of both files set to extreme values, one at a time (promise 18, invariant 7)."""

import os
import time

import pytest

from hostile import probe
from storm.board import Board
from storm.fork_server import ForkServer, backtrace
from support.waiting import WATCHDOG_S

EVERY = os.environ.get("SLIPRING_HOSTILE_WORDS") == "all"
MOST_FAILURES = 10


@pytest.mark.foreign_files
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_no_word_of_a_segment_can_kill_or_hang_a_process(bus_root, tmp_path, delivery):
    board = Board(tmp_path / "board")
    failures: list[str] = []
    with ForkServer(preload=["hostile.probe"]) as server:

        def start(first: int):
            settings = {"root": str(bus_root), "board_path": str(tmp_path / "board"), "delivery": delivery}
            return server.start("hostile.probe:run", first=first, every=EVERY, **settings)

        child, seen, deadline = start(0), 0, time.monotonic() + WATCHDOG_S
        while child.alive and len(failures) < MOST_FAILURES:
            number = board.read(probe.TRIAL)
            if number != seen:
                seen, deadline = number, time.monotonic() + WATCHDOG_S
            elif time.monotonic() > deadline:
                failures.append(f"{name_of(bus_root, number)} hangs\n{backtrace(child.pid)}")
                child.kill()
            time.sleep(0.005)
            if not child.alive:
                code, number = child.join(), board.read(probe.TRIAL)
                if code == 0:
                    break
                if code != -9:
                    failures.append(
                        f"{name_of(bus_root, number)} ended with {code}\n{server.errors()[-2500:]}"
                    )
                child = start(number + 1)
    board.close()
    assert not failures, "\n\n".join(failures)


def name_of(bus_root, number: int) -> str:
    contents = {name: (bus_root / "original" / name).read_bytes() for name in probe.FILES}
    file, offset, twist = probe.trials(contents, EVERY)[number]
    return f"{file} at {offset}: {twist}:"
