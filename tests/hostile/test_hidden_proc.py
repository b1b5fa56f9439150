# SPDX-License-Identifier: Apache-2.0
"""Processes from which /proc/sys is hidden (systemd's ProcSubset=pid, a chroot): they cannot read the boot id.

An unknown boot id is not a different one (promises 17 and 18). A file in memory is always of this boot. On a disk
the boot is unknown, and the error names this: it does not call a live topic damaged.
"""

import os
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

import slipring
from support.processes import CHILD, Process

HIDE = """mount -t tmpfs none "$1" && shift && exec "$@" """


@pytest.fixture
def behind(bus_root):
    """Starts a script in a process that does not see what is below a directory."""
    started: list[Process] = []

    def start(hidden: str, script: str, root: Path = bus_root, **variables) -> Process:
        command = ["unshare", "--mount", "sh", "-c", HIDE, "sh", hidden]
        if os.geteuid() != 0:
            command[1:1] = ["--user", "--map-root-user"]
        variables = {"root": str(root), "bus_name": "test", **variables}
        command += [sys.executable, "-P", str(CHILD), textwrap.dedent(script), repr(variables)]
        started.append(Process(command, dict(os.environ)))
        return started[-1]

    yield start
    for child in started:
        child.discard()


@pytest.fixture
def disk():
    """A root directory on a file system that outlives a restart."""
    root = Path(tempfile.mkdtemp(prefix="slipring-disk-", dir="/var/tmp"))
    yield root
    shutil.rmtree(root)


@pytest.mark.parametrize("hidden", ["/proc/sys", "/proc"])
def test_topics_and_cells_made_inside_are_used_outside(bus, behind, hidden):
    child = behind(
        hidden,
        """
        pub = bus.publisher("t", delivery="reliable")
        writer = bus.cells("c", dtype="S8").writer()
        say("made")
        hear()
        pub.send(b"from inside")
        writer.put(b"a  value")
        say("put")
        hear()
        """,
    )
    child.expect("made")
    sub, reader = bus.subscriber("t"), bus.cells("c", dtype="S8").reader()
    child.say("next")
    child.expect("put")
    assert sub.recv(timeout=60).body == b"from inside"
    assert reader.latest() == b"a  value"
    child.say("next")
    child.join()


@pytest.mark.parametrize("hidden", ["/proc/sys", "/proc"])
def test_topics_and_cells_made_outside_are_used_inside(bus, behind, hidden):
    sub, reader = bus.subscriber("t"), bus.cells("c", dtype="S8").reader()
    bus.create("t", delivery="reliable")
    assert sub.recv(timeout=0) is None
    behind(
        hidden,
        """
        bus.publisher("t").send(b"from inside")
        bus.cells("c", dtype="S8").writer().put(b"a  value")
        """,
    ).join()
    assert sub.recv(timeout=60).body == b"from inside"
    assert reader.latest() == b"a  value"


def test_on_a_disk_an_open_inside_is_refused_by_the_cause_and_harms_nothing(disk, behind):
    with slipring.Bus("test", root=str(disk)) as bus:
        sub, pub = bus.subscriber("t"), bus.publisher("t")
        assert sub.recv(timeout=0) is None
        child = behind(
            "/proc/sys",
            """
            for open_it in (bus.publisher, bus.subscriber):
                try:
                    open_it("t")
                except slipring.Denied as error:
                    say(str(error))
            """,
            root=disk,
        )
        for text in (child.hear(), child.hear()):
            assert "this process could not read /proc/sys/kernel/random/boot_id" in text
            assert "ProcSubset=all" in text and "/dev/shm" in text
            assert "remove" not in text
        child.join()
        pub.send(b"as before")
        assert sub.recv(timeout=60).body == b"as before"


def test_on_a_disk_nothing_is_made_inside(disk, behind):
    child = behind(
        "/proc/sys",
        """
        for make in (bus.create, lambda name: bus.cells(name, dtype="S8").writer()):
            try:
                make("t")
            except slipring.Denied as error:
                say(str(error))
        """,
        root=disk,
    )
    for text in (child.hear(), child.hear()):
        assert "this process could not read /proc/sys/kernel/random/boot_id" in text
    child.join()
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_a_boot_id_that_is_another_is_refused_in_memory_too(bus, bus_root):
    bus.create("t")
    ring = next(bus_root.rglob("t.ring"))
    contents = bytearray(ring.read_bytes())
    contents[128:144] = b"\x5a" * 16
    ring.write_bytes(contents)
    with pytest.raises(slipring.Corrupt, match="before this machine's last start"):
        bus.subscriber("t").recv(timeout=0)
    ring.write_bytes(contents[:128] + bytes(16) + contents[144:])
    assert bus.subscriber("t").recv(timeout=0) is None
