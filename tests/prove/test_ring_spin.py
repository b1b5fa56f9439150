# SPDX-License-Identifier: Apache-2.0
"""The models of the ring (claim.pml, reclaim.pml, wake.pml in core/models) hold in every interleaving.

Every process is killed between any two steps. Each model also detects planted mistakes.
"""

import pytest

from support.spin import WATCHDOG_S, errors

WHOLE = [
    ("claim", {"SLOTS": 2, "SENDS": 2}),
    ("claim", {"SLOTS": 3, "SENDS": 2}),
    ("claim", {"SLOTS": 3, "SENDS": 1, "DEATHS": 2}),
    ("claim", {"SLOTS": 4, "SENDS": 2, "RUN": 2}),
    ("reclaim", {"SENDS": 5}),
    ("reclaim", {"SENDS": 4, "WRITERS": 1, "READERS": 2}),
    ("wake", {"PUBLISHERS": 2, "SENDS": 2}),
    ("wake", {"PUBLISHERS": 1, "READERS": 2, "SENDS": 2, "DEATHS": 2}),
]
MISTAKES = [
    *(("claim", mistake) for mistake in ("ANNOUNCE", "HELP_LOOKS", "HELP_STORES", "TAKE_OVER", "ABANDON")),
    *(("claim", f"RUN_{mistake}") for mistake in ("HELPER_FORGETS", "HELPER_STORES", "TAIL_FIRST")),
    *(("reclaim", mistake) for mistake in ("FREED", "ORDER", "HOLDS", "CHECK", "INTACT")),
    *(("wake", mistake) for mistake in ("FENCE", "LOOK", "MARK", "MARK_IS_SEEN", "CLEAR", "WILL", "SLOT")),
    *(("wake", mistake) for mistake in ("HEIR", "HEIRS_WILL")),
]


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize(("model", "size"), WHOLE, ids=str)
def test_no_interleaving_and_no_death_breaks_the_ring(verify, model, size):
    report = verify(f"{model}.pml", **size)
    assert errors(report) == 0, report


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize(("model", "mistake"), MISTAKES)
def test_the_models_of_the_ring_notice_a_planted_mistake(verify, model, mistake):
    size = {"SLOTS": 2, "SENDS": 3} if model == "claim" else {}
    if mistake.startswith("RUN_"):
        size = {"SLOTS": 4, "SENDS": 2, "RUN": 2}
    if mistake.startswith("HEIR"):  # HEIR: the reader that the kernel wakes for a dead publisher
        size = {"PUBLISHERS": 1, "READERS": 2, "SENDS": 1, "DEATHS": 2}
    assert errors(verify(f"{model}.pml", **size, **{f"BREAK_{mistake}": 1})) > 0
