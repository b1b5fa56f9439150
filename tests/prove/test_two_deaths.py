# SPDX-License-Identifier: Apache-2.0
"""A process is killed at each named point, and its recoverer at each of its own points.

As shipped, one pair in SLIPRING_ONE_IN is tried (1: all pairs). ASAN and UBSAN get the default share.
"""

import os
import re

import pytest

from support import core_build

ONE_IN = os.environ.get("SLIPRING_ONE_IN", "24")
COUNTED = re.compile(r"^(\d+) (?:pairs|second deaths)", re.MULTILINE)


def listed(variant: str) -> list[core_build.Test]:
    return [test for test in core_build.tests(variant) if test.suite == "two_deaths"]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("test", listed("shipped"), ids=lambda test: test.name)
def test_a_recoverer_killed_at_any_point_disturbs_nobody(test, record_property):
    report = core_build.run(test, 1.0, ONE_IN)
    print(report)
    [count] = COUNTED.findall(report)
    record_property("pairs of deaths", int(count))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("test", listed("asan"), ids=lambda test: test.name)
def test_a_recoverer_killed_at_any_point_disturbs_nobody_under_sanitizers(test):
    core_build.run(test, 0.3)
