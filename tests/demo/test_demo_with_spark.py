# SPDX-License-Identifier: Apache-2.0
"""The whole demo as `make demo` runs it: the robot, Spark beside it, killed once, and what is left of it."""

import json
import re

import pytest
from demo.spark.accounts import Line, claims, lines
from demo_program import start

pytestmark = pytest.mark.timeout(900)


def test_published_is_recorded_plus_counted_gaps_although_spark_was_killed(tmp_path):
    out = tmp_path / "report"
    with start("--seconds", "10", out=out) as process:
        printed, _ = process.communicate(timeout=840)
    log = (out / "spark.log").read_text() if (out / "spark.log").exists() else ""
    assert process.returncode == 0, printed + log[-5000:]
    told = json.loads((out / "summary.json").read_text())["claims"]
    assert len(told) == 17
    assert [claim for claim in told if not claim["passed"]] == []
    detail = next(claim["detail"] for claim in told if claim["claim"].startswith("Published ="))
    published, recorded, gaps = (
        int(number.replace(",", ""))
        for number in re.fullmatch(
            r"([\d,]+) published = ([\d,]+) recorded \+ ([\d,]+) in counted gaps", detail
        ).groups()
    )
    assert published == recorded + gaps
    assert recorded > 1000
    assert "Spark:" in printed
    page = (out / "traffic.html").read_text()
    assert "imu" in page and "<script src" not in page


HONEST = Line("imu", published=90, tail=100, first=0, end=100, recorded=80, lost=10, abandoned=10)
PROOF = {"complete": True, "problems": [], "rows": 9, "replayed": 3, "to_replay": 3, "equal": True}


def passed(line=HONEST, proof=PROOF, kills=1):
    return [claim.passed for claim in claims([line], proof, kills)]


@pytest.mark.parametrize(
    "counts",
    [
        {"recorded": 81},
        {"lost": 9},
        {"first": 1},
        {"end": 99},
        {"tail": 101},
        {"published": 91},
        {"abandoned": 9},
    ],
)
def test_a_count_that_is_off_by_one_fails_the_claim(counts):
    assert passed() == [True, True, True]
    wrong = Line(**{**vars(HONEST), **counts})
    assert passed(wrong)[0] is False


def test_a_lake_that_is_not_complete_or_another_replay_fails_the_claim():
    assert passed(proof={**PROOF, "complete": False, "problems": ["x: gone"]})[1] is False
    assert passed(kills=0)[1] is False
    assert passed(proof={**PROOF, "replayed": 2})[2] is False
    assert passed(proof={**PROOF, "equal": False})[2] is False


def test_a_topic_that_is_not_in_the_lake_does_not_add_up():
    (line,) = lines({"imu": {"published": 1, "tail": 1}}, [])
    assert not line.adds_up
