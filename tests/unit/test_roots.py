# SPDX-License-Identifier: Apache-2.0
"""Directories that a bus may use, and errors that describe them."""

import errno
import os
import pickle

import pytest

import slipring
from hostile.users import ANN, BOB, start_as


def test_a_root_is_made_but_not_its_parents(bus_root):
    with slipring.Bus("b", root=bus_root / "root") as bus:
        bus.create("t", capacity=4096)
        assert bus.topics() == ["t"]
    root = bus_root / "missing" / "root"
    with pytest.raises(slipring.SystemFault) as refused:
        slipring.Bus("b", root=root)
    assert refused.value.argument == "root"
    assert refused.value.errno == errno.ENOENT
    assert f"'{root.parent}' does not exist" in str(refused.value)
    assert f"mkdir -p '{root.parent}'" in str(refused.value)
    assert not root.parent.exists()


def test_the_root_of_the_environment_is_held_to_the_same(bus_root, monkeypatch):
    monkeypatch.setenv("SLIPRING_ROOT", f"{bus_root}/missing/root")
    with pytest.raises(slipring.SystemFault, match="does not exist"):
        slipring.Bus("b")
    assert not (bus_root / "missing").exists()


def test_a_parent_that_vanishes_later_is_named_too(bus_root):
    parent = bus_root / "parent"
    parent.mkdir()
    with slipring.Bus("b", root=parent / "root") as bus:
        parent.rmdir()
        with pytest.raises(slipring.SystemFault, match=f"'{parent}' does not exist"):
            bus.create("t", capacity=4096)


@pytest.mark.parametrize(("mode", "meant"), [(644, "0o644"), (600, "0o600"), (777, "0o777"), (660, "0o660")])
def test_a_mode_that_was_written_without_0o_is_suggested_with_it(bus, mode, meant):
    with pytest.raises(slipring.BadArgument, match=f"did you mean {meant}") as refused:
        bus.create("t", mode=mode)
    assert refused.value.argument == "mode"


@pytest.mark.parametrize("mode", [0, -1, 999, 1000, 0o1777])
def test_a_mode_that_means_nothing_suggests_nothing(bus, mode):
    with pytest.raises(slipring.BadArgument) as refused:
        bus.create("t", mode=mode)
    assert "did you mean" not in str(refused.value)


SAY = """
def said(call):
    try:
        call()
    except slipring.SlipringError as error:
        return type(error).__name__, str(error)
say([said(lambda: bus.publisher("t")), said(lambda: bus.subscriber("t").recv(0)), said(lambda: bus.remove("t"))])
hear()
"""


def test_denied_names_the_owner_of_the_file_and_our_user(bus_root, processes):
    os.chown(bus_root, ANN, ANN)
    bus_root.chmod(0o755)
    maker = start_as(processes, ANN, "bus.create('t', capacity=4096)\nsay(1)\nhear()")
    maker.expect(1)
    child = start_as(processes, BOB, SAY)
    for name, text in child.hear():
        assert name == "Denied"
        assert f"owner {ANN}:" in text
        assert "mode 0" in text
        assert f"this process is user {BOB}" in text
        assert str(bus_root) in text


LATE = """
sub = bus.subscriber("t")
say("open")
hear()
def said(call):
    try:
        call()
    except slipring.SlipringError as error:
        return type(error).__name__, str(error)
calls = [lambda: sub.recv(0), sub.recv, sub.__next__, lambda: sub.recv_many(1), lambda: slipring.wait([sub], 0)]
calls += [lambda: sub.view(0).__enter__(), lambda: bus.drop_cursor("t", "c")]
calls += [sub._ready, lambda: bus.cells("p").reader(), lambda: bus.stats("p")]
say([said(call) for call in calls])
hear()
"""


def test_denied_is_the_same_for_a_subscriber_that_was_there_before_its_topic(bus_root, processes):
    os.chown(bus_root, ANN, ANN)
    bus_root.chmod(0o755)
    made = """
bus.create("first", capacity=4096)
say("made")
hear()
bus.create("t", capacity=4096)
bus.cells("p", size=8)
say("made")
hear()
"""
    maker = start_as(processes, ANN, made)
    maker.expect("made")
    child = start_as(processes, BOB, LATE)
    child.expect("open")
    maker.say("go on")
    maker.expect("made")
    child.say("go on")
    for name, text in child.hear():
        assert name == "Denied"
        assert f"owner {ANN}:" in text and "mode 0o600" in text, text
        assert f"this process is user {BOB}" in text
        assert text.count(str(bus_root)) == 1


def test_denied_on_the_directory_names_its_owner(bus_root, processes):
    os.chown(bus_root, ANN, ANN)
    bus_root.chmod(0o700)
    child = start_as(
        processes,
        BOB,
        """
try:
    slipring.Bus("test", root=root).create("t")
except slipring.Denied as error:
    say(str(error))
hear()
""",
    )
    assert f"owner {ANN}:" in (said := child.hear())
    assert "mode 0o700" in said


def test_no_space_names_the_free_space_and_its_place(bus):
    with pytest.raises(slipring.NoSpace) as refused:
        bus.create("t", capacity="1TiB")
    assert "bytes and" in str(refused.value)
    assert "are free in '/dev/shm" in str(refused.value)


def test_an_explained_error_survives_being_pickled(bus):
    with pytest.raises(slipring.NoSpace) as refused:
        bus.create("t", capacity="1TiB")
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
