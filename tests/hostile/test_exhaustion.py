# SPDX-License-Identifier: Apache-2.0
"""Nothing left of a resource: an exception with a name, and nothing left behind (promise 18)."""

import contextlib
import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import slipring

pytestmark = pytest.mark.foreign_files


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small tmpfs: ``mounted("size=1m")`` returns its path."""
    if shutil.which("mount") is None:
        pytest.fail("no mount command: install the Debian package mount")
    places: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"mount{len(places)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "slipring-test", str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.fail(f"cannot mount a tmpfs ({done.stderr.strip()}): run the tests as root")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", str(place)], check=True)


def everything_in(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


@pytest.mark.parametrize("capacity", ["2MiB", "1MiB", "1008KiB", "64MiB", "1GiB"])
def test_full_memory_is_named_when_a_topic_is_created_and_nothing_is_left(mounted, capacity):
    place = mounted("size=1m")
    with slipring.Bus("test", root=str(place)) as bus:
        for attempt in (bus.create, bus.publisher):
            with pytest.raises(slipring.NoSpace) as caught:
                attempt("t", capacity=capacity)
            assert isinstance(caught.value, OSError)
            assert caught.value.errno == errno.ENOSPC
        assert everything_in(place) == ["test"]
        with bus.publisher("small", capacity="64KiB") as pub:
            pub.send(b"m")
        assert everything_in(place) == ["test", "test/small.readers", "test/small.ring"]
        assert bus.doctor() == []


def test_memory_full_to_the_last_page_never_kills_the_users_of_a_topic(mounted, processes):
    """Its space is reserved at creation: every page of the ring is written while no other page can be had."""
    place = mounted("size=1m")
    with slipring.Bus("test", root=str(place)) as bus:
        bus.create("t", capacity="128KiB", slots=1024)
        with open(place / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))
        assert shutil.disk_usage(place).free == 0
        child = processes.start(
            """
            with slipring.Bus("test", root=place) as full:
                pub, sub = full.publisher("t"), full.subscriber("t", start="oldest")
                cursor = full.subscriber("t", cursor="c")
                for number in range(5000):
                    pub.send(bytes(1000))
                    assert len(sub.recv(timeout=60).body) == 1000
                cursor.commit()
            say("went round")
            """,
            place=str(place),
            bus_name=None,
        )
        child.expect("went round")
        child.join()
        for _ in range(3):
            with pytest.raises(slipring.NoSpace):
                bus.create("other", capacity="64KiB")
        assert everything_in(place) == ["filler", "test", "test/t.readers", "test/t.ring"]


@pytest.mark.parametrize("inodes", range(2, 7))
def test_no_inode_left_is_named_at_every_step_of_creation(mounted, inodes):
    place = mounted(f"size=1m,nr_inodes={inodes}")
    with slipring.Bus("test", root=str(place)) as bus:
        try:
            bus.create("t", capacity=4096, slots=16)
        except slipring.NoSpace:
            assert set(everything_in(place)) <= {"test"}
        else:
            assert everything_in(place) == ["test", "test/t.readers", "test/t.ring"]


def test_read_only_file_system_is_named(mounted):
    place = mounted("size=1m")
    with slipring.Bus("test", root=str(place)) as bus:
        bus.publisher("t", capacity=4096).send(b"m")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    before = everything_in(place)
    with slipring.Bus("test", root=str(place)) as bus:
        for attempt in (bus.create, bus.publisher):
            with pytest.raises(slipring.SystemFault) as caught:
                attempt("new", capacity=4096)
            assert caught.value.errno == errno.EROFS
        with pytest.raises(slipring.SlipringError):
            bus.publisher("t")
    assert everything_in(place) == before


LIMITED = """
import errno, os, resource
def descriptors():
    return len(os.listdir("/proc/self/fd"))
bus.create("t", delivery="reliable")
bus.publisher("t").close(), bus.subscriber("t").close(), bus.doctor()          # everything is imported and warm
calls = {
    "create": lambda n: bus.create(f"new{n}", capacity=4096),
    "publisher": lambda n: bus.publisher("t").close(),
    "new publisher": lambda n: bus.publisher(f"fresh{n}", capacity=4096).close(),
    "subscriber": lambda n: bus.subscriber("t").close(),
    "cursor": lambda n: bus.subscriber("t", cursor="c").close(),
    "early subscriber": lambda n: bus.subscriber("missing").close(),
    "join": lambda n: bus.join("t", "me").close(),
    "stats": lambda n: bus.stats("t"),
    "topics": lambda n: bus.topics(),
    "doctor": lambda n: bus.doctor(),
    "remove": lambda n: bus.remove(f"new{n}", missing_ok=True),
    "open a bus": lambda n: slipring.Bus("elsewhere", root=root).close(),
}
"""


def test_too_many_open_files_is_named_and_no_descriptor_leaks(bus, bus_root, processes):
    child = processes.start(
        LIMITED
        + """
before, outcomes = descriptors(), {}
for name, call in calls.items():
    outcomes[name] = []
    for spare in range(12):
        highest = max(int(fd) for fd in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (before - 1 + spare, 65536))
        try:
            call(spare)
            outcome = None
        except slipring.SystemFault as error:
            outcome = error.errno
        except BaseException as error:
            outcome = repr(error)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 65536))
        outcomes[name].append(outcome)
        if descriptors() != before:
            outcomes[name].append(f"{descriptors() - before} descriptors leaked")
say(outcomes)
""".replace("65536", str(os.sysconf("SC_OPEN_MAX")))
    )
    outcomes = child.hear()
    child.join()
    for name, results in outcomes.items():
        assert set(results) <= {None, errno.EMFILE}, f"{name}: {results}"
        assert results[-1] is None, f"{name}: {results}"
    assert outcomes["publisher"][0] == errno.EMFILE
    assert outcomes["subscriber"][0] == errno.EMFILE
    assert bus.doctor() == []


def test_no_address_space_is_named_and_nothing_is_left(bus, bus_root, processes):
    child = processes.start(
        """
        import errno, resource
        bus.publisher("warm").close()
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
        outcomes = []
        for call in (bus.publisher, bus.subscriber):
            try:
                call("t", **({"capacity": "256MiB"} if call == bus.publisher else {}))
                outcomes.append("accepted")
            except slipring.SystemFault as error:
                outcomes.append(error.errno)
        say(outcomes[0])
        """
    )
    child.expect(errno.ENOMEM)
    child.join()
    assert bus.doctor() == []
    if "t" in bus.topics():
        bus.publisher("t").send(b"m")


def test_file_size_limit_is_an_exception_and_no_signal(bus, bus_root, processes):
    child = processes.start(
        """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            bus.create("t", capacity="16MiB")
        except slipring.SystemFault as error:
            say(error.errno)
        bus.publisher("small", capacity="64KiB").send(b"m")
        """
    )
    child.expect(errno.EFBIG)
    child.join()
    assert bus.topics() == ["small"]
    assert everything_in(bus_root) == ["test", "test/small.readers", "test/small.ring"]
