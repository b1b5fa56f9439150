# SPDX-License-Identifier: Apache-2.0
"""Fixtures of every test directory; support/__init__.py lists them."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import leaks, order, patience
from support.processes import Processes
from support.waiting import Call

BUILD = str(Path(__file__).parents[1] / "tools/build-package.sh")
os.environ["SLIPRING_ROOT"] = str(leaks.DEFAULT_ROOT)
# Thousands of processes import the package: without byte code each of them would compile it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# What nohup or a shell's & chose would be handed down to the tested programs.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
# Here and not in a hook: the conftest.py of a folder imports the package before any hook runs.
if "PYTEST_XDIST_WORKER" not in os.environ:  # once, not in each worker
    subprocess.run(["sh", BUILD, sys.prefix], check=True)


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "foreign_files: the test leaves files of its own in the bus root")
    config.addinivalue_line("markers", "leaks_allowed(reason): the leak check is not made after this test")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items) -> None:
    patience.scale_timeouts(items)
    order.arrange(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node, ids) -> None:
    order.check_groups(node.config, ids)


def pytest_collection_finish() -> None:
    """The items of thousands of tests stay to the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


FAILED = pytest.StashKey[bool]()


@pytest.fixture
def snapshot():
    """What a test must leave as it was; a directory whose tests share something outer has its own."""
    return leaks.Snapshot()


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request, snapshot):
    yield
    if FAILED in request.node.stash or request.node.get_closest_marker("leaks_allowed"):
        return  # a failed test keeps its frames, and with them its handles
    found = snapshot.leaks()
    assert not found, "\n".join(found)


@pytest.fixture
def bus_root(request):
    root = Path(tempfile.mkdtemp(prefix=leaks.SESSION_PREFIX, dir=leaks.SHM))
    yield root
    strays = [] if request.node.get_closest_marker("foreign_files") else leaks.stray_files(root)
    shutil.rmtree(root)
    assert not strays, "\n".join(strays)


@pytest.fixture
def bus(bus_root):
    import slipring

    with slipring.Bus("test", root=str(bus_root)) as bus:
        yield bus


@pytest.fixture
def processes(bus_root):
    harness = Processes(bus_root)
    yield harness
    harness.discard()


@pytest.fixture
def background():
    """Starts ``fn(*args)`` in a thread; every such call has to end within the test."""
    calls: list[Call] = []

    def start(fn, *args, **kwargs) -> Call:
        calls.append(Call(fn, *args, **kwargs))
        return calls[-1]

    yield start
    assert all(call.ended() for call in calls), "a background call of the test never ended"
