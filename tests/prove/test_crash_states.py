# SPDX-License-Identifier: Apache-2.0
"""A process dies after each store and each system call of the core, then its recoverer does.

Every state of such a pair is recovered in all three ways (core/tests/states, docs/reliability/crash-states.md).
"""

import re

import pytest

from support import core_build

COUNTED = re.compile(r"^(\d+) (states|pairs) of (.*) survived", re.MULTILINE)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "test",
    [test for test in core_build.tests("shipped") if test.suite == "states"],
    ids=lambda test: test.name,
)
def test_every_crash_state_and_every_pair_is_survived(test, record_property):
    found = COUNTED.findall(core_build.run(test, 1.0, "thorough=1"))
    assert found, "the program did not print what it tried"
    for count, kind, subject in found:
        print(f"{count} {kind} of {subject}")
        record_property(f"crash {kind}", int(count))
