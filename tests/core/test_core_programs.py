# SPDX-License-Identifier: Apache-2.0
"""Run each test program of the core (core/tests) under ASAN and UBSAN. tests/prove runs them in every variant."""

import pytest

from support import core_build

SCALE = 0.3  # factor for the number of rounds
FOR_PROVE = ("states", "two_deaths")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "test",
    [test for test in core_build.tests("asan") if test.suite not in FOR_PROVE],
    ids=lambda test: test.name,
)
def test_a_promise_of_the_core_is_kept_under_sanitizers(test):
    print(core_build.run(test, SCALE))
