# SPDX-License-Identifier: Apache-2.0
"""Every question has an answer of ours: one sample each, for the figures and their units, not for their values."""

from __future__ import annotations

import math
import os

import pytest
from benchmarks.environments import Environments
from benchmarks.rivals_venv import RivalsVenv
from benchmarks.suite import ALL

from slipring.bench.case import Case
from slipring.bench.processes import Workers
from slipring.bench.rounds import run_sample

SECONDS = 0.02
# Tested with the suite's own machinery: by their floors (test_samples.py) or by the verb (tests/cli).
ELSEWHERE = {"throughput", "batches", "round_trip", "calls"}


class NoFloors:
    reasons: dict[str, str] = {}  # noqa: RUF012 - never changed
    programs: dict[str, str] = {}  # noqa: RUF012


def chosen() -> list[Case]:
    """A short case of ours for each question, and for each of its modes."""
    found: dict[tuple[str, str | None], Case] = {}
    for name, module in ALL.questions.items():
        for case in module.cases(True) if name not in ELSEWHERE else ():
            if ALL.is_ours(case.transport):
                found.setdefault((name, case.settings.get("mode")), case)
    return list(found.values())


@pytest.fixture
def environments(tmp_path):
    return Environments(NoFloors(), RivalsVenv(tmp_path / "never-made"))


def answered(environments: Environments, case: Case, root) -> dict[str, float]:
    told = run_sample(environments, case, root / "place", SECONDS)
    assert "error" not in told, told
    module = ALL.questions[case.question]
    for figure in (module.FIGURE, *getattr(module, "FURTHER_FIGURES", ())):
        value = told["figures"][figure]
        assert math.isfinite(value), figure
        assert value >= 0 or figure.endswith("_added"), figure  # a difference of two counts may be negative
    assert list(root.iterdir()) == []
    return told["figures"]


@pytest.mark.parametrize("case", chosen(), ids=lambda case: f"{case.question} {case.key}")
def test_a_question_is_answered_with_all_of_its_figures_and_nothing_stays_behind(
    environments, bus_root, case
):
    answered(environments, case, bus_root)


def test_a_reliable_fan_out_loses_nothing(environments, bus_root):
    figures = answered(environments, Case("fanout", "slipring", {"subscribers": 3}), bus_root)
    assert figures["lost_share"] == 0
    assert figures["deliveries_per_s"] > 0


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_a_message_of_any_size_is_carried(environments, bus_root, size):
    assert answered(environments, Case("throughput", "slipring", {"size": size}), bus_root)["messages"] > 0


def test_a_rival_of_the_standard_library_waits_as_we_do(environments, bus_root):
    case = Case("waiting", "unix-socket", {"state": "awake", "topics": 10})
    assert answered(environments, case, bus_root)["messages"] > 0


def test_workers_of_which_one_fails_raise_its_exit_code_and_leave_no_process():
    def fail(line) -> None:
        line.meet()
        os._exit(3)

    with pytest.raises(ChildProcessError, match="ended with 3"), Workers() as workers:
        workers.start(fail).meet()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_workers_are_ended_when_the_block_is_left_with_an_error():
    with pytest.raises(KeyError), Workers() as workers:
        workers.start(lambda line: line.hear())
        raise KeyError
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
