# SPDX-License-Identifier: Apache-2.0
"""Hostile contents of every kind of file (invariant 7, promise 18).

The tests run the committed inputs, then search for new ones for SLIPRING_FUZZ_SECONDS a target (default 0).
"""

import os

import pytest

from fuzz import corpus, mutation, recording, running

SECONDS = int(os.environ.get("SLIPRING_FUZZ_SECONDS", "0"))


@pytest.mark.timeout(600 + SECONDS)
@pytest.mark.parametrize("target", running.targets())
def test_no_contents_of_a_file_cause_a_crash_a_hang_or_a_leak(target, record_property):
    inputs = len(corpus.load(target))
    assert inputs > 0
    outcome = running.run(running.program(target), target, seconds=SECONDS)
    print(outcome)
    assert not outcome.failure, outcome.failure
    assert outcome.executions >= inputs and outcome.edges > 0
    record_property("executions of fuzz targets", outcome.executions)


@pytest.mark.timeout(600 + SECONDS)
@pytest.mark.parametrize("target", mutation.targets())
def test_any_bytes_of_an_envelope_or_a_recording_are_read_or_refused_with_an_error_of_the_package(
    target, record_property
):
    least = len(mutation.load(target).seeds())
    outcome = mutation.run(target, seconds=SECONDS)
    print(outcome)
    assert not outcome.failure, outcome.failure
    assert outcome.executions >= least
    assert recording.folder is None, f"{recording.folder} is left"
    record_property("executions of fuzz targets", outcome.executions)
