# SPDX-License-Identifier: Apache-2.0
"""The error tree: one class per cause, every one a SlipringError, and what else it is."""

from pathlib import Path

import pytest

import slipring

TREE = {
    "TopicNotFound": (), "TopicExists": (), "TopicGone": (), "WrongLayout": (), "Corrupt": (),
    "Denied": (PermissionError,), "Busy": (), "Full": (), "TooLarge": (), "Timeout": (TimeoutError,),
    "Closed": (), "PeerGone": (), "RemoteError": (), "TooManyReaders": (), "TooManyWriters": (),
    "ForkedHandle": (), "BadArgument": (ValueError,), "NoSpace": (OSError,), "SystemFault": (OSError,),
    "SchemaMismatch": (), "Undecodable": (ValueError,), "MissingExtra": (ImportError,),
}  # fmt: skip


@pytest.mark.parametrize("name", TREE)
def test_each_cause_has_a_class_of_its_own(name):
    error = getattr(slipring, name)
    assert issubclass(error, slipring.SlipringError)
    for base in TREE[name]:
        assert issubclass(error, base)
    assert error.__module__ == "slipring"


def test_the_common_class_is_an_exception_and_nothing_narrower():
    assert slipring.SlipringError.__bases__ == (Exception,)


def test_no_cause_is_caught_as_another():
    classes = [getattr(slipring, name) for name in TREE]
    for error in classes:
        assert [other for other in classes if issubclass(error, other)] == [error]


@pytest.mark.foreign_files
@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, bytes(8192)], ids=["empty", "garbage", "zeros"])
@pytest.mark.parametrize("use", ["publisher", "subscriber", "create", "stats"])
def test_a_foreign_file_is_refused_and_left_as_it_was(bus, content, use):
    Path(bus.path).mkdir(exist_ok=True)
    for end in (".ring", ".readers"):
        Path(bus.path, "t" + end).write_bytes(content)
    with pytest.raises((slipring.WrongLayout, slipring.Corrupt)):
        handle = getattr(bus, use)("t")
        if use == "subscriber":
            handle.recv(timeout=0)
    for end in (".ring", ".readers"):
        assert Path(bus.path, "t" + end).read_bytes() == content


@pytest.mark.foreign_files
def test_another_layout_is_refused_by_name(bus):
    bus.create("t", capacity=4096)
    path = Path(bus.path, "t.ring")
    raw = bytearray(path.read_bytes())
    raw[:64] = bytes(64)
    path.write_bytes(raw)
    for use in (bus.publisher, bus.stats):
        with pytest.raises((slipring.WrongLayout, slipring.Corrupt)):
            use("t")


def test_a_root_that_is_a_file_is_an_error_with_a_name(bus_root, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"")
    with pytest.raises(slipring.SystemFault, match="directory"):
        slipring.Bus("b", root=path).create("t")
    assert path.read_bytes() == b""


def test_an_error_survives_being_pickled(bus):
    import pickle

    with pytest.raises(slipring.TopicNotFound) as caught:
        bus.stats("nowhere")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is slipring.TopicNotFound
    assert str(again) == str(caught.value)
