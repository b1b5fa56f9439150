# SPDX-License-Identifier: Apache-2.0
"""The model of registration and sweep (core/models/registration.pml) holds in every interleaving.

Every process is killed, or stopped forever, between any two steps. The model also detects planted mistakes.
"""

import pytest

from support.spin import WATCHDOG_S, errors

READERS = [
    {"DEATHS": 1, "STOPS": 1},
    {"DEATHS": 2, "STOPS": 0},
    {"ENTRIES": 2, "LIVES": 1, "DEATHS": 1, "STOPS": 1},
]
WRITERS = [
    {"WRITERS": 1, "DEATHS": 1, "STOPS": 1, "ROUNDS": 1},
    {"WRITERS": 1, "ENTRIES": 2, "LIVES": 1, "DEATHS": 2, "STOPS": 1},
]
OF_READERS = ["INCARNATION", "STOPPED", "LOOK_ORDER", "LOCK", "HANDSHAKE", "CLOSE"]
OF_WRITERS = ["INCARNATION", "STOPPED", "LOOK_ORDER", "LOCK", "CLOSE", "ABANDON", "TAKE_OVER", "LOOK_AGAIN"]


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("size", [*READERS, *WRITERS], ids=str)
def test_no_live_entry_is_swept_and_no_dead_one_stays(verify, size):
    report = verify("registration.pml", **size)
    assert errors(report) == 0, report


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("mistake", OF_READERS)
def test_a_planted_mistake_of_readers_is_noticed(verify, mistake):
    assert errors(verify("registration.pml", **{f"BREAK_{mistake}": 1})) > 0


@pytest.mark.timeout(WATCHDOG_S)
@pytest.mark.parametrize("mistake", OF_WRITERS)
def test_a_planted_mistake_of_writers_is_noticed(verify, mistake):
    assert errors(verify("registration.pml", WRITERS=1, **{f"BREAK_{mistake}": 1})) > 0
