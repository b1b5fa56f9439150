# SPDX-License-Identifier: Apache-2.0
"""Samples: C programs and rivals are real programs, and each prints what the others print."""

import json
import subprocess
import sys

import pytest
from benchmarks.__main__ import FullPlan
from benchmarks.environments import ISOLATED_IMPORT, Environments
from benchmarks.floors import HERE as FLOORS
from benchmarks.floors import Floors, beside
from benchmarks.rivals_venv import RivalsVenv
from benchmarks.suite import ALL

from slipring.bench.case import Case
from slipring.bench.histogram import Histogram
from slipring.bench.rounds import run_sample, take
from slipring.bench.runner import Plan, document_text
from slipring.bench.suite import OWN

SECONDS = 0.02


def floor_cases() -> list[Case]:
    ours = [Case("throughput", "slipring", {"size": size}) for size in (64, 1 << 20)]
    ours += [Case("batches", "slipring-arrow", {"size": 64}), Case("round_trip", "slipring")]
    ours += [Case("round_trip", "slipring-sleeping")]
    return [floor for case in ours for floor in beside(case)]


@pytest.fixture(scope="module")
def floors(tmp_path_factory):
    return Floors(tmp_path_factory.mktemp("floors"), floor_cases())


@pytest.fixture
def environments(floors, tmp_path):
    return Environments(floors, RivalsVenv(tmp_path / "never-made"))


@pytest.mark.parametrize("case", floor_cases(), ids=lambda case: f"{case.question} {case.key}")
def test_a_floor_answers_like_a_transport(environments, bus_root, case):
    told = run_sample(environments, case, bus_root / "place", SECONDS)
    assert "error" not in told, told
    assert told["figures"][ALL.questions[case.question].FIGURE] > 0
    if "histogram" in told:
        assert Histogram.parse(told["histogram"]).counts.total() == told["figures"]["messages"]
    assert list(bus_root.iterdir()) == []


def test_a_floor_in_c_counts_times_in_the_buckets_of_python(tmp_path):
    times = [0, 1, 127, 128, 129, 255, 256, 1000, 123_456, 987_654_321, 1 << 40]
    source = tmp_path / "count.c"
    notes = " ".join(f"note_time({ns}ull);" for ns in times)
    body = f"struct measured m = {{.count = 1}}; {notes} print_times(&m);"
    source.write_text(f'#include "two.h"\nint main(void) {{ {body} }}\n')
    program = tmp_path / "count"
    subprocess.run(["cc", "-D_GNU_SOURCE", f"-I{FLOORS}", "-o", program, source], check=True)
    told = json.loads(subprocess.run([program], capture_output=True, check=True).stdout)
    assert told["histogram"] == Histogram.of(times).text()


def test_a_rival_is_measured_where_slipring_is_not_installed(bus_root):
    place = bus_root / "place"
    place.mkdir()
    case = Case("round_trip", "unix-socket").to_json()
    command = [sys._base_executable, "-I", ISOLATED_IMPORT, "benchmarks.sample", case, place, str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["figures"]["messages"] > 0
    place.rmdir()


def test_a_failing_sample_is_a_result_with_its_last_line_of_error(environments, bus_root):
    told = run_sample(environments, Case("throughput", "slipring", {"size": -1}), bus_root / "place", SECONDS)
    assert set(told) == {"error"} and told["error"]
    assert list(bus_root.iterdir()) == []


def test_a_rival_that_could_not_be_installed_is_left_out_with_the_reason(floors, tmp_path):
    environments = Environments(floors, RivalsVenv(tmp_path), {"iceoryx2": "no network"})
    assert (
        environments.reason_against(Case("round_trip", "iceoryx2"))
        == "iceoryx2 could not be installed: no network"
    )
    assert environments.reason_against(Case("round_trip", "unix-socket")) is None


def test_rounds_are_interleaved_and_none_is_begun_that_would_not_end_in_time(environments, bus_root):
    cases = [Case("round_trip", name) for name in ("slipring", "unix-socket")]
    announced = []
    samples = take(environments, bus_root, cases, 2, SECONDS, 1e9, lambda *at: announced.append(at[:2]))
    assert announced == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [each["case"] for each in samples] == ["slipring", "unix-socket"] * 2
    assert len(take(environments, bus_root, cases[:1], 2, SECONDS, 1e-9, lambda *at: None)) == 1


def test_a_quick_run_asks_less_than_a_full_one_and_no_rivals_leaves_them_out():
    for plan, suite in ((Plan, OWN), (FullPlan, ALL)):
        quick, full = (len(plan.of(quick).cases(suite)) for quick in (True, False))
        assert quick < full
    names = {case.transport for case in FullPlan.of(False, rivals=False).cases(ALL)}
    assert all(name.startswith(("slipring", "c-", "memmove")) for name in names)


def test_the_command_of_the_package_asks_only_what_needs_no_checkout():
    cases = Plan.of(False).cases(OWN)
    assert {case.question for case in cases} == set(OWN.questions)
    assert all(OWN.homes[case.transport].module.startswith("slipring.bench.") for case in cases)


def test_a_kept_document_is_the_same_again_with_a_line_for_each_sample():
    samples = [{"case": "slipring", "figures": {"p50_us": 1.5}, "cache_line_ns": [1, None]} for _ in range(3)]
    document = {
        "plan": {"only": []},
        "left_out": {},
        "samples": samples,
        "rates": {"64": {"a": [1.0], "b": []}},
    }
    text = document_text(document)
    assert json.loads(text) == document
    assert [line.strip(" ,") for line in text.splitlines()].count(json.dumps(samples[0])) == len(samples)
