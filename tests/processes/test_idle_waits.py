# SPDX-License-Identifier: Apache-2.0
"""Promise 19: an idle wait wakes up ever more rarely, and notices what wakes no sleeper (design/waiting.md)."""

from pathlib import Path

import pytest

SMALL = {"capacity": 4096, "slots": 16}
WAITS = {
    "recv": "sub.recv(timeout=idle_s)",
    "view": "sub.view(timeout=idle_s).__enter__()",
    "wait on one": "slipring.wait([sub], timeout=idle_s)",
    "wait on 42": "slipring.wait(subs[:42], timeout=idle_s)",
    "wait on 100": "slipring.wait(subs, timeout=idle_s)",
    "cells": "cells.wait(timeout=idle_s)",
    "frames": "frames.recv(timeout=idle_s).__enter__()",
}
# After slices of 5 ms, 10 ms, 20 ms and so on for 5 s the next ends after another 5 s, and the one after it later than
# this. With slices of 1 s at most it would be twelve sleeps. Of the others the kernel may have its reasons, and threads
# that are joined.
WAITED_S, IDLE_S, MOST_SLEEPS = 5.2, 12.0, 10


def test_an_idle_wait_wakes_up_ever_more_rarely(bus, processes):
    """All at once, since each takes its time."""
    for number in range(100):
        bus.create(f"n{number}", **SMALL)
    bus.create("t", **SMALL)
    children = {
        name: processes.start(
            """
            import resource
            sub = bus.subscriber("t")
            subs = [bus.subscriber(f"n{number}") for number in range(100)] if "subs" in wait else []
            if "cells" in wait:
                cells = bus.cells("cells", dtype="f8", depth=2).reader()
            if "frames" in wait:
                pool = bus.frames("frames", shape=(4,), dtype="u1", buffers=2)
                publisher, frames = pool.publisher(), pool.subscriber()

            def sleeps():
                return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

            idle_s = waited_s
            eval(wait)
            idle_s, before = most_s, sleeps()
            eval(wait)
            say(sleeps() - before)
            """,
            wait=wait,
            waited_s=WAITED_S,
            most_s=IDLE_S,
        )
        for name, wait in WAITS.items()
    }
    counts = {name: child.hear() for name, child in children.items()}
    assert all(1 <= count <= MOST_SLEEPS for count in counts.values()), counts


@pytest.mark.parametrize("how", ["removed", "deleted"])
def test_a_long_wait_reports_that_its_topic_is_gone(bus, processes, how):
    bus.create("t", **SMALL)
    waiter = processes.start("""
        sub = bus.subscriber("t")
        try:
            sub.recv(timeout=1.0)
            say("idle")
            sub.recv()
        except slipring.TopicGone:
            say("gone")
    """)
    waiter.expect("idle")
    waiter.wait_until_asleep()
    if how == "removed":
        bus.remove("t")
    else:
        for file in Path(bus.path).glob("t.*"):
            file.unlink()
    waiter.expect("gone")
