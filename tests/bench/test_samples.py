# SPDX-License-Identifier: Apache-2.0
"""Samples: floors and rivals are real programs, and each tells what the others tell."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import slipring.bench
from slipring.bench.case import Case
from slipring.bench.floors import Floors, beside
from slipring.bench.grounds import Grounds
from slipring.bench.histogram import Histogram
from slipring.bench.questions import QUESTIONS
from slipring.bench.rivals_venv import RivalsVenv
from slipring.bench.rounds import run_sample, take
from slipring.bench.run import Plan

SECONDS = 0.02


def floor_cases() -> list[Case]:
    ours = [Case("throughput", "slipring", {"size": size}) for size in (64, 1 << 20)]
    ours += [Case("batches", "slipring-arrow", {"size": 64}), Case("round_trip", "slipring")]
    ours += [Case("round_trip", "slipring-sleeping")]
    return [*(floor for case in ours for floor in beside(case)), *QUESTIONS["bandwidth"].cases(True)]


@pytest.fixture(scope="module")
def floors(tmp_path_factory):
    return Floors(tmp_path_factory.mktemp("floors"), floor_cases())


@pytest.fixture
def grounds(floors, tmp_path):
    return Grounds(floors, RivalsVenv(tmp_path / "never-made"))


@pytest.mark.parametrize("case", floor_cases(), ids=lambda case: f"{case.question} {case.key}")
def test_a_floor_answers_like_everybody(grounds, bus_root, case):
    told = run_sample(grounds, case, bus_root / "place", SECONDS)
    assert "error" not in told, told
    assert told["figures"][QUESTIONS[case.question].FIGURE] > 0
    if "histogram" in told:
        assert Histogram.parse(told["histogram"]).counts.total() == told["figures"]["messages"]
    assert list(bus_root.iterdir()) == []


def test_a_floor_in_c_counts_times_in_the_buckets_of_python(tmp_path):
    times = [0, 1, 127, 128, 129, 255, 256, 1000, 123_456, 987_654_321, 1 << 40]
    source = tmp_path / "count.c"
    notes = " ".join(f"note_time({ns}ull);" for ns in times)
    body = f"struct measured m = {{.count = 1}}; {notes} print_times(&m);"
    source.write_text(f'#include "two.h"\nint main(void) {{ {body} }}\n')
    include = Path(slipring.bench.__file__).parent / "floors"
    program = tmp_path / "count"
    subprocess.run(["cc", "-D_GNU_SOURCE", f"-I{include}", "-o", program, source], check=True)
    told = json.loads(subprocess.run([program], capture_output=True, check=True).stdout)
    assert told["histogram"] == Histogram.of(times).text()


def test_a_rival_is_measured_where_slipring_is_not_installed(bus_root):
    hollow = Path(slipring.bench.__file__).with_name("hollow.py")
    place = bus_root / "place"
    place.mkdir()
    case = Case("round_trip", "unix-socket").to_json()
    command = [sys._base_executable, "-I", hollow, "slipring.bench.sample", case, place, str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["figures"]["messages"] > 0
    place.rmdir()


def test_a_failing_sample_is_a_result_with_its_last_words(grounds, bus_root):
    told = run_sample(grounds, Case("throughput", "slipring", {"size": -1}), bus_root / "place", SECONDS)
    assert set(told) == {"error"} and told["error"]
    assert list(bus_root.iterdir()) == []


def test_a_rival_that_could_not_be_installed_is_left_out_with_the_reason(floors, tmp_path):
    grounds = Grounds(floors, RivalsVenv(tmp_path), {"iceoryx2": "no network"})
    assert (
        grounds.reason_against(Case("round_trip", "iceoryx2"))
        == "iceoryx2 could not be installed: no network"
    )
    assert grounds.reason_against(Case("round_trip", "unix-socket")) is None


def test_rounds_are_interleaved_and_none_is_begun_that_would_not_end_in_time(grounds, bus_root):
    cases = [Case("round_trip", name) for name in ("slipring", "unix-socket")]
    announced = []
    samples = take(grounds, bus_root, cases, 2, SECONDS, 1e9, lambda *at: announced.append(at[:2]))
    assert announced == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [each["case"] for each in samples] == ["slipring", "unix-socket"] * 2
    assert len(take(grounds, bus_root, cases[:1], 2, SECONDS, 1e-9, lambda *at: None)) == 1


def test_a_quick_run_asks_less_than_a_full_one_and_no_rivals_leaves_them_out():
    quick, full = (len(Plan.of(quick).cases()) for quick in (True, False))
    assert quick < full
    names = {case.transport for case in Plan.of(False, rivals=False).cases()}
    assert all(name.startswith(("slipring", "c-")) for name in names)
