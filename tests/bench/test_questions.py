# SPDX-License-Identifier: Apache-2.0
"""Every question has an answer of ours: one sample each, for the figures and their units, not for their values."""

from __future__ import annotations

import math
import os

import pytest

from slipring.bench.case import Case
from slipring.bench.crew import Crew
from slipring.bench.grounds import Grounds
from slipring.bench.questions import QUESTIONS
from slipring.bench.rivals import is_ours
from slipring.bench.rivals_venv import RivalsVenv
from slipring.bench.rounds import run_sample

SECONDS = 0.02
# Tested with the suite's own machinery: by their floors (test_samples.py) or by the verb (tests/cli).
ELSEWHERE = {"throughput", "batches", "round_trip", "calls", "cells", "frames", "bandwidth", "filled_frames"}


class NoFloors:
    reasons: dict[str, str] = {}  # noqa: RUF012 - never changed
    programs: dict[str, str] = {}  # noqa: RUF012


def chosen() -> list[Case]:
    """A short case of ours for each question."""
    asked = (module.cases(True) for name, module in QUESTIONS.items() if name not in ELSEWHERE)
    return [next(case for case in cases if is_ours(case.transport)) for cases in asked]


@pytest.fixture
def grounds(tmp_path):
    return Grounds(NoFloors(), RivalsVenv(tmp_path / "never-made"))


def answered(grounds: Grounds, case: Case, root) -> dict[str, float]:
    told = run_sample(grounds, case, root / "place", SECONDS)
    assert "error" not in told, told
    module = QUESTIONS[case.question]
    for figure in (module.FIGURE, *getattr(module, "FURTHER_FIGURES", ())):
        value = told["figures"][figure]
        assert math.isfinite(value), figure
        assert value >= 0 or figure.endswith("_added"), figure  # a difference of two counts may be negative
    assert list(root.iterdir()) == []
    return told["figures"]


@pytest.mark.parametrize("case", chosen(), ids=lambda case: f"{case.question} {case.key}")
def test_a_question_is_answered_with_all_of_its_figures_and_nothing_stays_behind(grounds, bus_root, case):
    answered(grounds, case, bus_root)


def test_a_reliable_fan_out_loses_nothing(grounds, bus_root):
    figures = answered(grounds, Case("fanout", "slipring", {"subscribers": 3}), bus_root)
    assert figures["lost_share"] == 0
    assert figures["deliveries_per_s"] > 0


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_a_message_of_any_size_is_carried(grounds, bus_root, size):
    assert answered(grounds, Case("throughput", "slipring", {"size": size}), bus_root)["messages"] > 0


def test_a_rival_of_the_standard_library_waits_as_we_do(grounds, bus_root):
    case = Case("waiting", "unix-socket", {"mood": "awake", "topics": 10})
    assert answered(grounds, case, bus_root)["messages"] > 0


def test_a_crew_whose_process_fails_says_so_and_leaves_nobody():
    def fail(line) -> None:
        line.meet()
        os._exit(3)

    with pytest.raises(ChildProcessError, match="ended with 3"), Crew() as crew:
        crew.start(fail).meet()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_crew_is_ended_with_whoever_watches_it():
    with pytest.raises(KeyError), Crew() as crew:
        crew.start(lambda line: line.hear())
        raise KeyError
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
