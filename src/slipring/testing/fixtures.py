# SPDX-License-Identifier: Apache-2.0
"""Fixtures for pytest. In your conftest.py: ``pytest_plugins = ["slipring.testing.fixtures"]``

stepped_bus    a `SteppedBus`; its seed is that of ``@pytest.mark.slipring_seed(7)``, else 0. When the test
               fails, the trace of the bus is part of the report
bus            a real `slipring.Bus` under a temporary root of its own. Afterwards nothing may be left: no
               open or mapped file of it, no table entry of a dead process, no half topic
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from slipring import Bus

from .bus import SteppedBus

_SHM = Path("/dev/shm")
_TRACE = pytest.StashKey[SteppedBus]()
_LINES = 200  # of a trace in a report


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slipring_seed(seed): the seed of the stepped_bus fixture")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    bus = item.stash.get(_TRACE, None)
    if bus is not None and report.when == "call" and report.failed:
        lines = bus.trace
        left_out = [f"… {len(lines) - _LINES} lines before"] if len(lines) > _LINES else []
        text = "\n".join([*left_out, *lines[-_LINES:]])
        report.sections.append((f"trace of the stepped bus, seed={bus.seed!r}", text))
    return report


@pytest.fixture
def stepped_bus(request: pytest.FixtureRequest) -> Iterator[SteppedBus]:
    mark = request.node.get_closest_marker("slipring_seed")
    with SteppedBus(seed=mark.args[0] if mark else 0) as bus:
        request.node.stash[_TRACE] = bus
        yield bus


def _in_use(root: Path) -> Iterator[str]:
    """Files under the root that this process has open or mapped."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the descriptor of this listing
        if target.startswith(f"{root}/"):
            yield f"{target} is still open"
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith(f"{root}/"):
            yield f"{fields[5]} is still mapped"


def _left_behind(bus: Bus, root: Path) -> list[str]:
    findings: list[dict[str, Any]] = list(bus.doctor())
    bus.close()
    return sorted({*(f"topic {one['topic']}: {one['problem']}" for one in findings), *_in_use(root)})


@pytest.fixture
def bus() -> Iterator[Bus]:
    root = Path(tempfile.mkdtemp(prefix="slipring-pytest-", dir=_SHM if _SHM.is_dir() else None))
    try:
        bus = Bus("test", root=root)
        yield bus
        left = [] if bus.closed else _left_behind(bus, root)
        assert not left, "the test left behind:\n" + "\n".join(left)
    finally:
        shutil.rmtree(root)
