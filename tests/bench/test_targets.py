# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of targets: which rival is meant, what is compared with what, and when nothing can be said."""

import json

import pytest
from benchmarks.__main__ import FullPlan
from benchmarks.suite import ALL, is_floor
from benchmarks.target import Fastest, Target
from benchmarks.targets import TARGETS, judge, judge_spark, kept_spark

OURS = ("throughput", "slipring size=64")
ENDS = ("topic", "Parquet")


def sample(
    transport, value, question="throughput", turn=0, placement="near", figure="messages_per_s", **settings
):
    settings = settings or ({"size": 64} if question == "throughput" else {})
    case = " ".join([transport, *(f"{name}={each}" for name, each in settings.items())])
    return {
        "question": question,
        "transport": transport,
        "settings": settings,
        "case": case,
        "round": turn,
        "placement": placement,
        "figures": {figure: value},
    }


def target(other, limit=10.0, wanted="at least", figure="messages_per_s", ours=OURS, **more):
    return Target("a promise", figure, ours, other, limit, wanted, **more)


def test_a_ratio_is_that_of_the_medians_with_its_spread_by_round():
    samples = [sample("slipring", value, turn=turn) for turn, value in enumerate((100, 300, 200))]
    samples += [sample("pyzmq", value, turn=turn) for turn, value in enumerate((10, 20, 10))]
    found = target(("throughput", "pyzmq size=64")).measured(samples)
    assert (found.value, found.low, found.high, found.against) == (20, 10, 20, "pyzmq size=64")


def test_only_samples_of_the_same_placement_are_compared():
    samples = [
        sample("slipring", 100, turn=0, placement="near"),
        sample("slipring", 10, turn=1, placement="far"),
    ]
    samples += [sample("pyzmq", 5, turn=1, placement="far"), sample("pyzmq", 1, turn=2, placement="moved")]
    found = target(("throughput", "pyzmq size=64")).measured(samples)
    assert (found.value, found.placement) == (2, "far")


def test_the_fastest_rival_is_chosen_by_the_run_and_is_neither_ours_nor_a_floor():
    samples = [sample("slipring", 100), sample("slipring-one-writer", 200), sample("c-core", 300)]
    samples += [sample("pyzmq", 4), sample("mp-pipe", 5), sample("zenoh", 50, size=1024)]
    told = target(Fastest("throughput", "size=64")).verdict(samples)
    assert (told["against"], told["value"], told["verdict"]) == ("mp-pipe size=64", 20, "met")


@pytest.mark.parametrize(("polls", "expected"), [(True, "iceoryx2"), (False, "mp-pipe"), (None, "iceoryx2")])
def test_the_fastest_of_those_that_poll_or_of_those_that_sleep_has_the_least_time(polls, expected):
    values = {"slipring": 1, "iceoryx2": 8, "mp-pipe": 80, "unix-socket": 90}
    samples = [sample(name, value, "round_trip", figure="p50_us") for name, value in values.items()]
    fastest = Fastest("round_trip", polls=polls)
    found = target(fastest, figure="p50_us", ours=("round_trip", "slipring")).measured(samples)
    assert found.against == expected


@pytest.mark.parametrize(("wanted", "verdict"), [("at least", "MISSED"), ("at most", "met")])
def test_a_limit_is_met_from_its_own_side(wanted, verdict):
    samples = [sample("slipring", 30), sample("pyzmq", 10)]
    assert target(("throughput", "pyzmq size=64"), 10, wanted).verdict(samples)["verdict"] == verdict
    assert target(("throughput", "pyzmq size=64"), 3, wanted).verdict(samples)["verdict"] == "met"


def test_a_figure_that_stands_alone_counts_only_where_it_was_asked_for():
    samples = [sample("slipring", 1.5, placement="near"), sample("slipring", 9.0, turn=1, placement="far")]
    alone = target(None, 2, "at most", unit=" µs", placement="near")
    assert alone.verdict(samples)["value"] == 1.5 and alone.verdict(samples)["verdict"] == "met"
    assert alone.verdict(samples[1:])["verdict"] == "not measured"


@pytest.mark.parametrize("other", [("throughput", "pyzmq size=64"), Fastest("throughput", "size=64")])
def test_what_a_run_did_not_ask_is_not_measured(other):
    failed = {**sample("pyzmq", 1), "error": "it broke"}
    del failed["figures"]
    for samples in ([], [sample("slipring", 1)], [sample("slipring", 1), failed], [sample("pyzmq", 1)]):
        assert target(other).verdict(samples)["verdict"] == "not measured"


def test_a_figure_that_only_some_of_the_samples_have_is_taken_from_those():
    samples = [sample("slipring", 3), sample("slipring", 1, turn=1, figure="p50_us")]
    assert target(None, 3).verdict(samples)["value"] == 3


def test_spark_is_judged_by_what_was_kept_for_every_size(tmp_path):
    rates = {
        "value to nothing: topic": [2.0, 4.0],
        "value to nothing: Parquet": [3.0, 3.0],
        "value to nothing: Arrow IPC": [4.0, 5.0],
        "six columns to Parquet: topic": [1.0, 1.0],
        "six columns to Parquet: Parquet": [2.0, 2.0],
        "fields to nothing: topic": [1.8, 2.4],
    }
    (tmp_path / "spark.json").write_text(json.dumps({"rates": {"64": rates}}))
    value, columns, arrow, fields = judge_spark(kept_spark(tmp_path))
    assert (value["value"], value["verdict"]) == (1.0, "met")
    assert (columns["value"], columns["verdict"]) == (0.5, "MISSED")
    assert arrow["target"] == "Spark, value to nothing, 64 B: Arrow IPC files"
    assert (arrow["value"], arrow["verdict"]) == (3 / 4.5, "MISSED")
    assert (arrow["low"], arrow["high"], arrow["against"]) == (0.5, 0.8, "Arrow IPC size=64")
    assert (fields["target"], fields["value"]) == (
        "Spark, fields to nothing, 64 B: the values alone",
        2.1 / 3.0,
    )
    assert {each["verdict"] for each in judge_spark(kept_spark(tmp_path / "nowhere"))} == {"not measured"}


def test_a_spark_run_from_before_there_were_arrow_files_is_judged_by_what_it_has():
    rates = {f"{way}: {end}": [1.0] for way in ("value to nothing", "six columns to Parquet") for end in ENDS}
    told = judge_spark({"rates": {"64": rates}})
    assert [each["verdict"] for each in told] == ["met", "met", "not measured", "not measured"]


def test_every_target_is_listed_even_for_an_empty_run():
    told = judge([])
    assert len(told) >= len(TARGETS) and {each["verdict"] for each in told} == {"not measured"}
    assert len({each["target"] for each in told}) == len(told)


def test_targets_name_cases_that_a_full_run_measures():
    asked = {(case.question, case.key) for case in FullPlan().cases(ALL)}
    for each in TARGETS:
        for which in (each.ours, each.other):
            if isinstance(which, tuple) and which[0] in ALL.questions:
                assert which in asked, f"{each.promise}: nobody measures {which}"
    assert all(case.split()[0] in ALL.homes or is_floor(case.split()[0]) for _, case in asked)
