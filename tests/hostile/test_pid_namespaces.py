# SPDX-License-Identifier: Apache-2.0
"""Containers that share the directory: pids mean nothing, deaths are seen all the same (promise 17)."""

import os
import shutil
import signal
import sys
import textwrap
from pathlib import Path

import pytest

import slipring
from crash.rings import fill
from support.processes import CHILD, Process
from support.waiting import eventually


class Contained(Process):
    """A process that is pid 1 of a namespace of its own; ``pid`` is unshare's, ``inner`` its pid here."""

    @property
    def inner(self) -> int:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return int(eventually(lambda: children.read_text().split(), "the contained process")[0])

    def kill(self) -> None:
        if self.alive:
            os.kill(self.inner, signal.SIGKILL)
        super().join(code=None)


@pytest.fixture
def contained(bus_root):
    if shutil.which("unshare") is None:
        pytest.fail("no unshare command: install the Debian package util-linux")
    started: list[Contained] = []

    def start(script: str, **variables) -> Contained:
        variables = {"root": str(bus_root), "bus_name": "test", **variables}
        script = textwrap.dedent("import os\nassert os.getpid() == 1\n") + textwrap.dedent(script)
        unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if os.geteuid() != 0:
            unshare += ["--user", "--map-root-user"]
        command = [*unshare, sys.executable, "-P", str(CHILD), script, repr(variables)]
        started.append(Contained(command, dict(os.environ)))
        return started[-1]

    yield start
    for child in started:
        child.discard()


IDLE_PUBLISHER = "pub = bus.publisher('t', writers='one'); say('there'); hear()"


def test_exclusive_place_is_kept_across_namespaces_and_free_after_death(bus, contained):
    child = contained(IDLE_PUBLISHER)
    child.expect("there")
    with pytest.raises(slipring.Busy):
        bus.publisher("t")
    other = contained(
        """
        try:
            bus.publisher("t")
        except slipring.Busy:
            say("busy")
        """
    )
    other.expect("busy")
    assert bus.stats("t")["publishers"][0]["alive"]
    child.kill()
    bus.publisher("t").close()


def test_participants_with_the_same_pid_are_distinguished(bus, contained):
    children = [
        contained("sub = bus.subscriber('t'); say('there'); say(sub.recv().body); hear()") for _ in range(2)
    ]
    bus.create("t", delivery="reliable", capacity=4096, slots=16)
    for child in children:
        child.expect("there")
    pub = bus.publisher("t")
    assert pub.wait_for_subscribers(2, timeout=60)
    children[0].kill()
    pub.send(b"for the living")
    children[1].expect(b"for the living")
    with bus.subscriber("t"):
        readers = bus.stats("t")["readers"]
        assert [entry["alive"] for entry in readers] == [True, True]


@pytest.mark.parametrize("outside", ["publisher", "subscriber"])
def test_message_behind_a_claim_that_died_in_another_namespace_arrives(bus, contained, outside):
    bus.create("t", delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("t")
    lender = contained("loan = bus.publisher('t').loan(8); loan.__enter__(); say('there'); hear()")
    lender.expect("there")
    if outside == "publisher":
        with bus.publisher("t") as pub:
            pub.send(b"behind")
    else:
        sender = contained("bus.publisher('t').send(b'behind'); say('sent')")
        sender.expect("sent")
        sender.join()
    assert sub.recv(timeout=0) is None
    lender.kill()
    assert sub.recv(timeout=60).body == b"behind"


def test_reader_killed_in_another_namespace_holds_nobody_back(bus, contained, background):
    pub = bus.publisher("t", delivery="reliable", capacity=4096, slots=16)
    child = contained("sub = bus.subscriber('t'); say('there'); hear()")
    child.expect("there")
    fill(pub)
    blocked = background(pub.send, b"m")
    blocked.wait_until_asleep()
    child.kill()
    blocked.result()


def test_paused_process_of_another_namespace_is_not_dead(bus, contained):
    child = contained(IDLE_PUBLISHER)
    child.expect("there")
    os.kill(child.inner, signal.SIGSTOP)
    for _ in range(3):
        with pytest.raises(slipring.Busy):
            bus.publisher("t")
    os.kill(child.inner, signal.SIGCONT)


def test_waiter_in_another_namespace_is_woken(bus, contained):
    bus.create("t")
    child = contained("sub = bus.subscriber('t'); say('there'); say(sub.recv().body)")
    child.expect("there")
    eventually(lambda: "S" in Path(f"/proc/{child.inner}/stat").read_text().rsplit(")", 1)[1].split()[0])
    bus.publisher("t").send(b"awake")
    child.expect(b"awake")
    child.join()
