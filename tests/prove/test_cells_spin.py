# SPDX-License-Identifier: Apache-2.0
"""The model of cells (core/models/cells.pml) holds in every interleaving, with both ends killed between any two steps.

It also detects planted mistakes.
"""

import pytest

from support.spin import WATCHDOG_S, errors

SIZES = [
    {"N": 1, "PUTS": 4, "TAKES": 3},
    {"N": 2, "PUTS": 4, "TAKES": 2},
    {"N": 2, "PUTS": 6, "TAKES": 3, "DEATHS": 0},
    {"N": 3, "PUTS": 5, "TAKES": 2, "DEATHS": 0},
]


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_interleaving_and_no_death_tears_repeats_reorders_or_loses_a_cell(verify, size):
    report = verify("cells.pml", **size)
    assert errors(report) == 0, report
    assert "unreached" in report or "states, stored" in report


@pytest.mark.parametrize("mistake", ["KEPT", "TURN_FIRST", "ONE_INTENT", "ORDER"])
def test_the_model_notices_a_planted_mistake(verify, mistake):
    sizes = {"N": 1, "PUTS": 4, "TAKES": 3}
    if mistake == "ORDER":  # needs a writer that passes all cells within one snapshot
        sizes = {"N": 2, "PUTS": 6, "TAKES": 2, "DEATHS": 0}
    assert errors(verify("cells.pml", **sizes, **{f"BREAK_{mistake}": 1})) > 0
