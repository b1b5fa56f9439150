# SPDX-License-Identifier: Apache-2.0
"""A process that does not see /proc/sys (systemd's ProcSubset=pid, a chroot): its boot id is unknown, not another."""

import os
import subprocess
import sys

import pytest

import slipring
from slipring._bus.exactly_once import process_identity as life
from slipring.bridge import Mirror
from slipring.cli.terminal import host_checks
from slipring.pipelines.lake.model import Session
from slipring.pipelines.record import hosts
from support.waiting import WATCHDOG_S

IDENTITIES = """
import sys, slipring
from slipring._bus import life
from slipring.bridge.identity import identity_of
with slipring.Bus("test", root=sys.argv[1]) as bus:
    print(life.mark(int(sys.argv[2])), *map(life.is_alive, sys.argv[3:5]), identity_of(bus), sep="\\n")
"""


@pytest.fixture
def hide(monkeypatch):
    def hide() -> None:
        boot = sys.modules["slipring._bus.boot"]
        monkeypatch.setattr(boot, "_PATH", "/proc/nothing/boot_id")

    return hide


def hidden(script: str, *args) -> str:
    """What a Python process prints that does not see /proc/sys."""
    outer = 'mount -t tmpfs none /proc/sys && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", outer, "-", sys.executable, "-c", script, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide /proc/sys")
def test_processes_inside_and_outside_recognize_each_other(bus, bus_root):
    bus.create("t", capacity=4096)
    mine = life.mark(os.getpid())
    gone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    of_gone = life.mark(gone.pid)
    gone.communicate(b"\n", timeout=WATCHDOG_S)
    marked, alive, dead, identity = hidden(IDENTITIES, bus_root, os.getpid(), mine, of_gone).splitlines()
    assert alive == "True" and dead == "False"
    assert life.is_alive(marked)
    assert identity.startswith("@")


def test_a_process_marked_without_a_boot_id_is_alive_while_it_lives(hide):
    seen = life.mark(os.getpid())
    hide()
    unseen = life.mark(os.getpid())
    assert life.is_alive(seen) and life.is_alive(unseen)
    _boot, rest = seen.split(" ", 1)
    assert unseen == f" {rest}"
    pid = rest.split(" ")[1]
    assert not life.is_alive(unseen.replace(f" {pid} ", " 4194305 "))


def test_a_process_of_another_run_of_the_kernel_is_dead():
    boot, rest = life.mark(os.getpid()).split(" ", 1)
    assert not life.is_alive(f"{'0' * len(boot)} {rest}")


def session(bus) -> Session:
    return Session("s", 0, {"bus": bus.name, "root": bus.root, "host": hosts.identity(bus)})


@pytest.mark.parametrize("hidden_first", [True, False])
def test_a_session_is_of_this_host_whichever_recorder_sees_the_boot_id(bus, hide, monkeypatch, hidden_first):
    bus.create("t", capacity=4096)
    if hidden_first:
        hide()
    recorded = session(bus)
    if hidden_first:
        monkeypatch.undo()
    else:
        hide()
    assert hosts.is_own(recorded, bus) and hosts.may_release(recorded, bus)


def test_a_circle_is_found_by_a_mirror_that_does_not_see_the_boot_id(bus, bus_root, hide, tmp_path):
    bus.create("t", capacity=4096)
    far = slipring.Bus("far", root=bus_root)
    state = str(tmp_path)
    with far, Mirror(bus, far, ["t"], source_state=state, target_state=state).start():
        hide()
        with pytest.raises(slipring.BadArgument, match="circle"):
            Mirror(far, bus, ["t"], source_state=state, target_state=state).start()


def test_doctor_says_that_the_boot_id_is_not_known(bus, hide):
    assert {check.check: check.state for check in host_checks.checks(bus)}["boot id"] == "ok"
    hide()
    (found,) = [check for check in host_checks.checks(bus) if check.check == "boot id"]
    assert found.state == "warning" and "/proc/sys" in found.advice
