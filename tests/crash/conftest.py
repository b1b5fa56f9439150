# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of deaths."""

import os
import signal

import pytest

import slipring
from crash.storms.tally import Tally
from storm import native
from support.waiting import eventually


@pytest.fixture(scope="session")
def tally():
    """What the storms of this run came to, printed at the end."""
    found = Tally()
    yield found
    print("", *found.lines(), sep="\n")


@pytest.fixture(scope="session")
def workers_in_c():
    native.build()


@pytest.fixture
def is_free(bus):
    """Whether the exclusive publisher's place of topic "t" can be had."""

    def look() -> bool:
        try:
            bus.publisher("t").close()
        except slipring.Busy:
            return False
        return True

    return look


@pytest.fixture
def orphan():
    """Pids of processes that outlive their parents; ended after the test."""
    pids: list[int] = []
    yield pids.append
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not os.path.exists(f"/proc/{pid}") or _is_zombie(pid), "the orphan's end")


def _is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
