# SPDX-License-Identifier: Apache-2.0
"""verify(model, **switches): search a model of core/models completely. The proof counts its states."""

import pytest

from support import spin


@pytest.fixture
def verify(tmp_path, record_property):
    def run(model: str, **switches) -> str:
        report = spin.verify(model, tmp_path, **switches)
        record_property("states of models", spin.states(report))
        return report

    return run
