# SPDX-License-Identifier: Apache-2.0
"""Places in a recording, new names and lateness, without Spark."""

import datetime

import pytest

import slipring
from slipring.pipelines.replay import range as ranges
from slipring.pipelines.replay.pace import Lateness, Pace, read_speed

RECORDED = {
    name: ranges.Recorded(name, generations, first_ns)
    for name, generations, first_ns in (
        ("a", (1,), 5_000),
        ("cam.left", (2,), 3_000),
        ("twice", (1, 2), 9_000),
    )
}


def limits(*places):
    return ranges.read_limits("start", list(places), RECORDED)


def test_places_are_read_as_written():
    assert limits() == ranges.Limits(None, {})
    assert limits("1970-01-01T00:00:01.5Z").time_ns == 1_500_000_000
    assert limits("1970-01-01T01:00:00+01:00").time_ns == 0
    assert limits("+2ms").time_ns == 2_003_000
    assert limits("+1.5").time_ns == 1_500_003_000
    assert limits("+1m").time_ns == 60_000_003_000
    assert limits(datetime.timedelta(seconds=1)).time_ns == 1_000_003_000
    assert limits(77).time_ns == 77
    local = datetime.datetime(2026, 1, 2, 3, 4)
    assert (
        limits("2026-01-02T03:04").time_ns
        == int(local.astimezone().timestamp()) * 10**9
        == limits(local).time_ns
    )
    assert limits("a@7", {"cam.left": 8}) == ranges.Limits(None, {"a": 7, "cam.left": 8})
    assert limits("a@7", "+0s") == ranges.Limits(3_000, {"a": 7})


@pytest.mark.parametrize(
    "places",
    [
        ["soon"],
        ["+-1s"],
        ["+1d"],
        ["x@1"],
        ["a@1", "a@2"],
        ["+1s", "+2s"],
        ["twice@1"],
        [{"a": -1}],
        [{"a": 1 << 63}],
    ],
)
def test_a_wrong_place_names_its_argument(places):
    with pytest.raises(slipring.BadArgument) as caught:
        limits(*places)
    assert caught.value.argument == "start"


def test_something_else_than_a_place_is_a_type_error():
    with pytest.raises(TypeError, match="start"):
        limits(1.5)


def test_topics_are_chosen_by_name_and_glob():
    assert list(ranges.choose(RECORDED, None)) == ["a", "cam.left", "twice"]
    assert list(ranges.choose(RECORDED, ["cam*", "a", "a"])) == ["a", "cam.left"]
    assert list(ranges.choose(RECORDED, None, ["t*", "a"])) == ["cam.left"]
    with pytest.raises(
        slipring.BadArgument, match=r"'b' is not in the recording: there are a, cam\.left, twice"
    ):
        ranges.choose(RECORDED, ["a", "b"])


def test_names_are_exchanged_but_never_joined():
    assert ranges.rename("ab", [("a", "b"), ("b", "a")]) == {"a": "b", "b": "a"}
    assert ranges.rename(["x.1", "x.2", "y"], [("x.*", "old.*")]) == {
        "x.1": "old.x.1",
        "x.2": "old.x.2",
        "y": "y",
    }
    with pytest.raises(slipring.BadArgument, match="would both become 'b'"):
        ranges.rename("ab", [("a", "b")])
    for text in ("a", "=b", "a="):
        with pytest.raises(slipring.BadArgument, match="OLD=NEW"):
            ranges.read_rule(text)


def test_a_speed_is_a_factor_or_max():
    assert (read_speed(10), read_speed("0.5"), read_speed("max")) == (10.0, 0.5, None)
    for wrong in (0, -1, "nan", "inf", "x", None):
        with pytest.raises(slipring.BadArgument):
            read_speed(wrong)


def test_lateness_is_reported_within_one_per_cent_and_its_maximum_exactly():
    late = Lateness()
    assert late.percentiles(50) == {"p50": None, "max": None}
    for number in range(1, 100_001):
        late.add(number * 1000 + 7)
    found = late.percentiles(50, 99, 99.9)
    for name, exact in (("p50", 0.05), ("p99", 0.099), ("p99.9", 0.0999)):
        assert found[name] == pytest.approx(exact, rel=0.01)
    assert found["max"] == 0.100000007
    assert len(late._counts) < 1 << 12


def test_the_schedule_is_fixed_by_its_first_message():
    pace = Pace(4.0)
    begin = pace.due_ns(1_000_000)
    assert pace.due_ns(9_000_000) - begin == 2_000_000
    assert pace.due_ns(1_000_000) == begin
    fastest = Pace(None)
    assert fastest.due_ns(5) == fastest.due_ns(10**18)
