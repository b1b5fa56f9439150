# SPDX-License-Identifier: Apache-2.0
"""The fixtures for pytest, in a pytest of their own."""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

SHM = "/dev/shm"


@pytest.fixture
def run(tmp_path):
    """Runs a test file with the fixtures; its output. Its buses are in a directory of this test's."""
    place = Path(tempfile.mkdtemp(prefix="slipring-fixtures-", dir=SHM))

    def run_pytest(code: str, *options: str) -> str:
        (tmp_path / "conftest.py").write_text(
            "from pathlib import Path\n"
            "from slipring.testing import fixtures\n"
            f"fixtures._SHM = Path({str(place)!r})\n"
            'pytest_plugins = ["slipring.testing.fixtures"]\n'
        )
        (tmp_path / "test_it.py").write_text("import slipring, pytest\n" + textwrap.dedent(code))
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout

    yield run_pytest
    place.rmdir()  # fails if something is left in it


def test_a_stepped_bus_has_the_seed_that_was_asked_for(run):
    said = run("""
        def test_plain(stepped_bus):
            assert stepped_bus.seed == 0
            stepped_bus.publisher("t").send(b"x")

        @pytest.mark.slipring_seed(7)
        def test_seeded(stepped_bus):
            assert stepped_bus.seed == 7
            assert stepped_bus.topics() == []
    """)
    assert "2 passed" in said


def test_the_report_of_a_failed_test_has_its_trace(run):
    said = run("""
        def test_fails(stepped_bus):
            stepped_bus.publisher("imu").send(b"x")
            stepped_bus.subscriber("imu").recv()
    """)
    assert "1 failed" in said
    assert "trace of the stepped bus, seed=0" in said
    assert "send imu 0 by p1" in said


def test_a_real_bus_is_fresh_for_every_test(run):
    said = run("""
        @pytest.mark.parametrize("turn", range(2))
        def test_fresh(bus, turn):
            assert bus.topics() == []
            pub, sub = bus.publisher("t", capacity=4096), bus.subscriber("t")
            pub.send(b"x")
            assert sub.recv(timeout=0).body == b"x"
    """)
    assert "2 passed" in said


def test_memory_still_held_after_a_test_is_a_failure(run):
    said = run("""
        kept = []

        def test_holds(bus):
            pub, sub = bus.publisher("t", capacity=4096), bus.subscriber("t")
            pub.send(b"x")
            with sub.view() as message:
                kept.append(message.body[:])
    """)
    assert "t.ring is still mapped" in said
    assert "1 error" in said


def test_a_dead_process_in_the_tables_after_a_test_is_a_failure(run):
    said = run("""
        import subprocess, sys

        def test_kills(bus):
            code = "import slipring, sys, os, signal; bus = slipring.Bus('test', root=sys.argv[1]);"
            code += "pub = bus.publisher('t', capacity=4096); os.kill(os.getpid(), signal.SIGKILL)"
            assert subprocess.run([sys.executable, "-c", code, bus.root]).returncode == -9
    """)
    assert "topic t: 1 table entry of dead processes" in said
    assert "1 error" in said
