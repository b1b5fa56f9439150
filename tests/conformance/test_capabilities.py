# SPDX-License-Identifier: Apache-2.0
"""What a backend cannot do is written down, in the documents, in the words the suite gives for it."""

import ast
from pathlib import Path

import pytest

from conformance.backends import BACKENDS, CAPABILITIES

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = "\n".join(path.read_text() for path in (REPOSITORY / "docs").rglob("*.md"))


@pytest.mark.parametrize("name", BACKENDS)
def test_each_missing_capability_of_a_backend_is_a_sentence_of_the_documents(name):
    for capability, sentence in BACKENDS[name].lacks.items():
        assert capability in CAPABILITIES
        assert " ".join(sentence.split()) in " ".join(DOCUMENTS.split())


def test_shared_memory_and_the_stepped_bus_lack_nothing():
    assert BACKENDS["shm"].lacks == BACKENDS["stepped"].lacks == {}


def marks_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    needs = [call for call in calls if getattr(call.func, "attr", "") == "needs"]
    return {argument.value for call in needs for argument in call.args}


def test_every_capability_is_needed_by_some_test_and_no_other_is():
    named = set().union(*(marks_of(path) for path in Path(__file__).parent.rglob("test_*.py")))
    assert named == set(CAPABILITIES)
