# SPDX-License-Identifier: Apache-2.0
"""The model of frames (core/models/frames.pml) holds in every interleaving.

Writer and readers are killed between any two steps. The model also detects planted mistakes.
"""

import pytest

from support.spin import WATCHDOG_S, errors

SIZES = [
    {"K": 2, "READERS": 1, "FRAMES": 3},
    {"K": 3, "READERS": 1, "FRAMES": 2},
    {"K": 1, "READERS": 2, "FRAMES": 3},
    {"K": 2, "READERS": 2, "FRAMES": 2},
    {"K": 2, "READERS": 2, "FRAMES": 3, "DEATHS": 0},
]


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_interleaving_and_no_death_changes_a_held_frame_or_shows_half_of_one(verify, size):
    report = verify("frames.pml", **size)
    assert errors(report) == 0, report


@pytest.mark.parametrize("mistake", ["NUMBERS", "MARK", "WRITER_LOOKS", "READER_LOOKS", "EARLY", "ABORT"])
def test_the_model_of_frames_notices_a_planted_mistake(verify, mistake):
    assert errors(verify("frames.pml", READERS=1, **{f"BREAK_{mistake}": 1})) > 0
