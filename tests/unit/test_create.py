# SPDX-License-Identifier: Apache-2.0
"""The files of a bus: its directory, their modes, and names that would lead elsewhere."""

import os
import stat
from pathlib import Path

import pytest

import slipring

BAD_NAMES = ["", ".", "..", ".hidden", "-dash", "a/b", "../up", "a b", "a\0b", "a\n", "é", "a:b", "x" * 101]


def test_a_bus_knows_its_name_root_and_path(bus, bus_root):
    assert bus.name == "test"
    assert str(bus.root) == str(bus_root)
    assert str(bus.path) == str(bus_root / "test")


def test_a_root_may_be_a_path_object_or_come_from_the_environment(bus_root, monkeypatch):
    with slipring.Bus("b", root=bus_root) as bus:
        bus.create("t", capacity=4096)
    monkeypatch.setenv("SLIPRING_ROOT", str(bus_root))
    with slipring.Bus("b") as bus:
        assert bus.topics() == ["t"]
    with slipring.Bus() as bus:
        assert bus.name == "default"
        assert bus.topics() == []


def test_a_root_that_is_missing_is_made_private(bus_root):
    root = bus_root / "new"
    with slipring.Bus("b", root=root) as bus:
        bus.create("t", capacity=4096)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "b").stat().st_mode) == 0o700


def test_a_bus_directory_takes_the_mode_of_an_existing_root(bus_root):
    bus_root.chmod(0o750)
    with slipring.Bus("b", root=bus_root) as bus:
        bus.create("t", capacity=4096)
    assert stat.S_IMODE((bus_root / "b").stat().st_mode) == 0o750


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_bad_bus_name_is_refused_and_makes_nothing(bus_root, name):
    with pytest.raises(slipring.BadArgument, match="name"):
        slipring.Bus(name, root=bus_root)
    assert os.listdir(bus_root) == []


@pytest.mark.parametrize(
    ("mode", "ring", "readers"),
    [(0o600, 0o600, 0o600), (0o640, 0o640, 0o660), (0o644, 0o644, 0o666), (0o660, 0o660, 0o660)],
)
def test_files_have_the_mode_asked_for_whatever_the_umask_is(bus, mode, ring, readers):
    for umask in (0o000, 0o077):
        previous = os.umask(umask)
        try:
            bus.create(f"t{umask}", capacity=4096, mode=mode)
        finally:
            os.umask(previous)
        path = Path(bus.path)
        assert stat.S_IMODE((path / f"t{umask}.ring").stat().st_mode) == ring
        assert stat.S_IMODE((path / f"t{umask}.readers").stat().st_mode) == readers
