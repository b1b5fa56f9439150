# SPDX-License-Identifier: Apache-2.0
"""Processes from which /proc/sys is hidden (systemd's ProcSubset=pid, a chroot).

Their boot id is unknown, which is not the same as different.
"""

import os
import subprocess
import sys

import pytest

import slipring
from slipring._bus.exactly_once import process_identity
from slipring.bridge import Mirror
from slipring.cli.terminal import host_checks
from slipring.pipelines.lake.model import Session
from slipring.pipelines.record import hosts
from support.waiting import WATCHDOG_S

IDENTITIES = """
import sys, slipring
from slipring._bus.exactly_once import process_identity
from slipring.bridge.identity import identity_of
with slipring.Bus("test", root=sys.argv[1]) as bus:
    print(process_identity.mark(int(sys.argv[2])))
    print(*map(process_identity.is_alive, sys.argv[3:5]), identity_of(bus), sep="\\n")
"""


@pytest.fixture
def hide(monkeypatch):
    def hide() -> None:
        monkeypatch.setattr(process_identity, "_BOOT_ID", "nothing/boot_id")

    return hide


def hidden(script: str, *args) -> str:
    """Run a script in a Python process from which /proc/sys is hidden, and return its output."""
    outer = 'mount -t tmpfs none /proc/sys && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", outer, "-", sys.executable, "-c", script, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide /proc/sys")
def test_processes_inside_and_outside_recognize_each_other(bus, bus_root):
    bus.create("t", capacity=4096)
    mine = process_identity.mark(os.getpid())
    gone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    of_gone = process_identity.mark(gone.pid)
    gone.communicate(b"\n", timeout=WATCHDOG_S)
    marked, alive, dead, identity = hidden(IDENTITIES, bus_root, os.getpid(), mine, of_gone).splitlines()
    assert alive == "True" and dead == "False"
    assert process_identity.is_alive(marked)
    assert identity.startswith("@")


def test_a_process_marked_without_a_boot_id_is_alive_while_it_lives(hide):
    seen = process_identity.mark(os.getpid())
    hide()
    unseen = process_identity.mark(os.getpid())
    assert process_identity.is_alive(seen) and process_identity.is_alive(unseen)
    _boot, rest = seen.split(" ", 1)
    assert unseen == f" {rest}"
    pid = rest.split(" ")[1]
    assert not process_identity.is_alive(unseen.replace(f" {pid} ", " 4194305 "))


def test_a_process_of_an_earlier_boot_is_dead():
    boot, rest = process_identity.mark(os.getpid()).split(" ", 1)
    assert not process_identity.is_alive(f"{'0' * len(boot)} {rest}")


def session(bus) -> Session:
    return Session("s", 0, {"bus": bus.name, "root": bus.root, "host": hosts.identity(bus)})


@pytest.mark.parametrize("hidden_first", [True, False])
def test_a_session_belongs_to_this_host_if_only_one_recorder_knows_the_boot_id(
    bus, hide, monkeypatch, hidden_first
):
    bus.create("t", capacity=4096)
    if hidden_first:
        hide()
    recorded = session(bus)
    if hidden_first:
        monkeypatch.undo()
    else:
        hide()
    assert hosts.is_own(recorded, bus) and hosts.may_release(recorded, bus)


def test_a_mirror_without_the_boot_id_finds_a_cycle(bus, bus_root, hide, tmp_path):
    bus.create("t", capacity=4096)
    far = slipring.Bus("far", root=bus_root)
    state = str(tmp_path)
    with far, Mirror(bus, far, ["t"], source_state=state, target_state=state).start():
        hide()
        with pytest.raises(slipring.BadArgument, match="would form a cycle"):
            Mirror(far, bus, ["t"], source_state=state, target_state=state).start()


def test_doctor_warns_of_an_unknown_boot_id(bus, hide):
    assert {check.check: check.state for check in host_checks.checks(bus)}["boot id"] == "ok"
    hide()
    (found,) = [check for check in host_checks.checks(bus) if check.check == "boot id"]
    assert found.state == "warning" and "/proc/sys" in found.advice
