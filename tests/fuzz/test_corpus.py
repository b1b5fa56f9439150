# SPDX-License-Identifier: Apache-2.0
"""The committed inputs of fuzz targets are read and written without loss, and exist for each target."""

import pytest

from fuzz import corpus, counted, running

FOUND = [target for target in counted.targets() if corpus.file(target).exists()]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "file", lambda target: tmp_path / "corpus" / f"{target}.txt")
    return tmp_path


def test_inputs_are_the_same_after_writing_and_reading(elsewhere):
    inputs = {"found-it": b"\0\xff: #", corpus.digest(b""): b"", corpus.digest(b"x"): b"x", "defect-a": b"x"}
    corpus.store("target", inputs)
    assert corpus.load("target") == inputs
    assert len(corpus.file("target").read_text().splitlines()) == 1 + len(inputs)
    assert corpus.load("nothing") == {}


def test_a_found_input_is_added_by_the_name_of_its_file(elsewhere):
    found = elsewhere / "target-crash-1"
    found.write_bytes(b"\x01\x02")
    corpus.add("target", found)
    assert corpus.load("target") == {"target-crash-1": b"\x01\x02"}
    folder = corpus.unpack(corpus.load("target"), elsewhere / "files")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == corpus.load("target")


@pytest.mark.parametrize("target", [*running.targets(), "recording", *FOUND])
def test_writing_a_committed_file_again_changes_nothing(target, tmp_path, monkeypatch):
    inputs, text = corpus.load(target), corpus.file(target).read_text()
    assert inputs
    monkeypatch.setattr(corpus, "file", lambda target: tmp_path / f"{target}.txt")
    corpus.store(target, inputs)
    assert corpus.file(target).read_text() == text
