# SPDX-License-Identifier: Apache-2.0
"""A process that executes another program leaves the bus (promise 14)."""

import os

import pytest

from support.waiting import eventually


def test_participation_is_released_by_exec(bus, is_free, processes):
    child = processes.start(
        """
        import os
        pub = bus.publisher("t", writers="one", delivery="reliable", capacity=4096, slots=16)
        sub = bus.subscriber("t")
        loan = pub.loan(8)
        loan.__enter__()
        say("there")
        hear()
        os.execv("/bin/sleep", ["sleep", "1000"])
        """
    )
    child.expect("there")
    assert not is_free()
    child.say("go")
    eventually(is_free, "the place of a process that executed another program")
    assert child.alive
    with bus.publisher("t") as pub:
        for _ in range(100):
            pub.send(b"m", timeout=60)
        stats = bus.stats("t")
        assert [entry["alive"] for entry in stats["publishers"]] == [True]
        assert [entry for entry in stats["readers"] if entry["alive"]] == []
    with open(f"/proc/{child.pid}/maps") as maps:
        assert "t.ring" not in maps.read()


@pytest.mark.parametrize("close_fds", [True, False])
def test_program_started_by_a_participant_does_not_prolong_its_life(
    bus, is_free, processes, orphan, close_fds
):
    child = processes.start(
        """
        import subprocess
        pub = bus.publisher("t", writers="one")
        program = subprocess.Popen(["sleep", "1000"], close_fds=close_fds)
        say(program.pid)
        hear()
        """,
        close_fds=close_fds,
    )
    pid = child.hear()
    orphan(pid)
    assert not [
        name for name in os.listdir(f"/proc/{pid}/fd") if "slipring" in os.readlink(f"/proc/{pid}/fd/{name}")
    ]
    child.kill()
    assert is_free()


def test_wake_ups_do_not_kill_or_disturb_a_program_executed_by_a_sleeping_readers_process(bus, processes):
    """A wake-up by signals would kill a process that executed another program."""
    pub = bus.publisher("t", capacity=4096, slots=16)
    child = processes.start(
        """
        import os, threading
        sub = bus.subscriber("t")
        threading.Thread(target=sub.recv, daemon=True).start()
        say("there")
        hear()
        os.execv("/bin/sleep", ["sleep", "1000"])
        """
    )
    child.expect("there")
    child.say("go")
    eventually(lambda: os.readlink(f"/proc/{child.pid}/exe").endswith("sleep"), "exec")
    for _ in range(100):
        pub.send(b"m")
    assert child.alive
