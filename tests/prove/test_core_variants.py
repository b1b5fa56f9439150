# SPDX-License-Identifier: Apache-2.0
"""The test programs of the core pass as shipped, under TSAN and, two of them, under valgrind.

The compiler's analyzer finds nothing in the sources. tests/core runs the programs under ASAN and UBSAN.
"""

import subprocess

import pytest

from support import core_build
from support.core_build import REPOSITORY

SCALES = {"shipped": 1.0, "tsan": 0.2}
OTHER_FILES = ("states", "two_deaths")  # test_crash_states.py, test_two_deaths.py
UNDER_VALGRIND = [
    "received_lost_and_filtered_add_up_exactly lossy",
    "loans_are_seen_when_committed_and_never_when_aborted",
]
VALGRIND = ("valgrind", "--error-exitcode=1", "-q", "--leak-check=full")
# Without two checks: the analyzer cannot know that a header was read completely, or that a filter owns its texts.
ANALYZER = [
    *[
        "gcc",
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O1",
        "-Icore/include",
        "-Icore/src",
        "-Wall",
        "-Wextra",
        "-Werror",
    ],
    *["-fanalyzer", "-Wno-analyzer-use-of-uninitialized-value", "-Wno-analyzer-malloc-leak"],
    *["-c", "-o", "/dev/null"],
]
SOURCES = sorted((REPOSITORY / "core/src").rglob("*.c"))


def listed(variant: str) -> list[core_build.Test]:
    return [test for test in core_build.tests(variant) if test.suite not in OTHER_FILES]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "test",
    [test for variant in SCALES for test in listed(variant)],
    ids=lambda test: f"{test.variant} {test.name}",
)
def test_a_promise_of_the_core_is_kept_in_every_variant(test):
    print(core_build.run(test, SCALES[test.variant]))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", UNDER_VALGRIND)
def test_valgrind_finds_no_error_and_no_leak(name):
    [test] = [test for test in core_build.tests("shipped") if test.name == name]
    core_build.run(test, 0.05, under=VALGRIND)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_analyzer_finds_nothing(source):
    done = subprocess.run([*ANALYZER, str(source)], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
