# SPDX-License-Identifier: Apache-2.0
"""Hostile schemas and hostile bodies of typed topics (docs/spec/schema.md).

`make test` runs the committed inputs and a few hundred others, always the same. `make prove` sets SLIPRING_FUZZ_RUNS,
the runs of all targets together. Each target has its share of them, in PARTS processes with new seeds.
"""

import os

import pytest

from fuzz import corpus, counted
from fuzz.counted import BLOCK

RUNS = int(os.environ.get("SLIPRING_FUZZ_RUNS", "0"))
FEW = 6 * BLOCK
PARTS = 4 if RUNS else 1


@pytest.mark.timeout(600 + RUNS // 1000)
@pytest.mark.parametrize("target", counted.targets())
@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_schemas_and_bodies_give_a_value_or_an_error_of_typed_topics(target, part, record_property):
    runs = max(FEW, int(RUNS * counted.share(target) / PARTS) + BLOCK)
    outcome = counted.run(target, runs=runs, seed=None if RUNS else 17)
    print(outcome)
    assert not outcome.failure, outcome.failure
    assert outcome.executions >= runs >= len(corpus.load(target))
    record_property("runs of schema and body targets", outcome.executions)
