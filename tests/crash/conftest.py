# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests that kill processes."""

import os
import signal

import pytest

import slipring
from crash.storms.tally import Tally
from storm import native
from support.waiting import eventually


@pytest.fixture(scope="session")
def tally():
    """Collect the totals of all storms of this run and print them at its end."""
    found = Tally()
    yield found
    print("", *found.lines(), sep="\n")


@pytest.fixture(scope="session")
def workers_in_c():
    native.build()


@pytest.fixture
def is_free(bus):
    """Return a function that reports whether an exclusive publisher can attach to topic "t"."""

    def look() -> bool:
        try:
            bus.publisher("t").close()
        except slipring.Busy:
            return False
        return True

    return look


@pytest.fixture
def orphan():
    """Take pids of processes that outlive their parents. Kill them after the test."""
    pids: list[int] = []
    yield pids.append
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not os.path.exists(f"/proc/{pid}") or _is_zombie(pid), "the orphan's end")


def _is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
