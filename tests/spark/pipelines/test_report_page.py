# SPDX-License-Identifier: Apache-2.0
"""The report's page in a real browser: on a desktop and on a phone, in light and in dark, under the pointer."""

import itertools
import re
from pathlib import Path

import pytest

from slipring.pipelines.report import Report, write_page
from slipring.pipelines.report.findings import Findings, find
from slipring.pipelines.report.page import render, traffic_over_time
from spark.pipelines.lake_rows import frame, hole, message
from support.browser import COVERED, DESKTOP, OVERFLOWS, PHONE, SCREENS, Browser, colours

S, MS = 10**9, 10**6
BEGAN_NS = 1_794_800_000 * S
TOPICS = ("<i>odd</i>", "arm.reply.100ad5ca115c7227", "front_left_camera.compressed.metadata", "imu", "lidar")
FIRST_LIGHT, FIRST_DARK = (42, 120, 214), (74, 151, 240)
LOST_LIGHT, LOST_DARK = (217, 47, 58), (255, 91, 98)
GAPS = 99
POINTER = """
(() => {
  const plot = document.querySelector(".traffic .plot"), place = plot.getBoundingClientRect();
  const at = { clientX: place.left + place.width * 0.5, clientY: place.top + 5, bubbles: true };
  plot.dispatchEvent(new PointerEvent("pointermove", at));
  return [...document.querySelectorAll("[data-track] .figure")].map((one) => one.innerHTML);
})()
"""
FIGURES = '[...document.querySelectorAll("[data-track] .figure")].map((one) => one.innerText.trim())'
COLOURS = """
[...document.querySelectorAll("[data-track]")].map((track) => getComputedStyle(track.querySelector(".area")).fill)
"""
# Tables that do not fit the screen without scrolling.
SCROLLED = """
[...document.querySelectorAll("table")].filter((one) => one.checkVisibility())
  .filter((one) => one.parentElement.scrollWidth > one.parentElement.clientWidth + 1)
  .map((one) => one.closest("section").textContent.slice(0, 60))
"""
TICKS = """
[...document.querySelectorAll(".axis")].filter((one) => one.checkVisibility())
  .map((one) => [...one.children].filter((tick) => tick.checkVisibility())
    .map((tick) => tick.getBoundingClientRect().toJSON()))
"""


def five(name, low):
    return {f"{name}_{part}": low * (at + 1) for at, part in enumerate(("p50", "p90", "p99", "p99_9", "max"))}


def sent(**more):
    """The figures of a topic, a sender and a type."""
    amounts = {"messages": 10_300, "bytes": 400_000, "rate_hz": 103.0, "bytes_per_s": 4000.0}
    times = {"first_ns": BEGAN_NS, "last_ns": BEGAN_NS + 100 * S, "silent_from_ns": BEGAN_NS}
    return {
        **amounts,
        **times,
        **five("size", 40.0),
        **five("interval_s", 0.01),
        **five("delay_s", 0.05),
        **more,
    }


def findings() -> Findings:
    """Five topics for 100 s, one of which lost 7 messages half-way and has 99 gaps."""
    found = Findings("lake", BEGAN_NS + 200 * S)
    found.totals = {
        **{"messages": 51_500, "bytes": 2_000_000, "gaps": GAPS, "lost": 105, "calls": 758, "errors": 42},
        **{"topics": 5, "first_ns": BEGAN_NS, "last_ns": BEGAN_NS + 100 * S, "seconds": 100.0},
    }
    for topic in TOPICS:
        imu = topic == "imu"
        counts = {"lost": 105 * imu, "gaps": GAPS * imu, "abandoned": 40 * imu, "lost_share": 0.01 * imu}
        found.topics.append(sent(topic=topic, senders=1, types=1, generations=1, **counts))
        found.senders.append(sent(topic=topic, sender="front-left-camera-driver"))
        found.types.append(sent(topic=topic, type="sensor_msgs.CompressedImage.v1"))
        for second in range(100):
            lost = 7 if imu and second == 50 else 0
            step = {"topic": topic, "time_ns": BEGAN_NS + second * S, "messages": 100 + second % 7}
            found.rates.append({**step, "bytes": 4000, "lost": lost})
        for measure, first in (("size", 12), ("interval", 56), ("delay", 80)):
            steps = ({"step": first + at, "messages": 100 * (at + 1)} for at in range(8))
            found.distributions += [{"measure": measure, "topic": topic, **step} for step in steps]
    for at in range(GAPS):
        at_ns = BEGAN_NS + at * S
        lost = 7 if at == 50 else 1
        times = {"at_ns": at_ns, "after_ns": at_ns, "before_ns": at_ns + S // 10}
        counts = {"offset": at * 100, "span": 8, "lost": lost, "abandoned": 8 - lost}
        found.gaps.append({"topic": "imu", "generation": 7, **counts, **times})
    for at in range(3):
        minute = {"minute_ns": BEGAN_NS + at * 60 * S, "messages": 9000 - at, "bytes": 90_000}
        found.busiest.append({**minute, "topic": TOPICS[2], "topic_messages": 3000})
    for method in ("plan", "where"):
        outcomes = {"calls": 379, "answered": 337, "errors": 42, "cancelled": 0, "open": 0}
        found.calls.append({"service": "arm", "method": method, **outcomes, **five("seconds", 0.013)})
    add_fields(found)
    error = {"service": "arm", "method": "plan", "reason": "raised", "error": "ValueError", "calls": 42}
    found.call_errors.append({**error, "last_ns": BEGAN_NS})
    return found


def add_fields(found: Findings) -> None:
    """A topic with few fields, and one with many, some of which are left out."""
    paths = ["t", "acc[0]", "acc[1]", "acc[2]", "orientation.quaternion.covariance[]", "temperature"]
    fields = [("imu", path, "float64") for path in paths]
    fields += [("lidar", f"ring_{at:02}.<i>intensity</i>", "uint64") for at in range(20)]
    for topic, path, kind in fields:
        quantiles = {f"p{percent}": -1.2345678e-7 * percent for percent in (5, 25, 50, 75, 95)}
        bounds = {"minimum": -1.79769e308, "maximum": 18446744073709551615.0}
        counts = {"values": 10_300, "nan": 7 if path == "t" else 0, "null": 0}
        found.fields.append({"topic": topic, "field": path, "type": kind, **bounds, **quantiles, **counts})
    found.undecodable.append({"topic": "imu", "messages": 3, "first": f"sequence 17: field {'x' * 300}: <b>"})
    found.fields_left_out["lidar"] = [f"point_{at}.reflectivity" for at in range(40)]
    found.fields_unread["front_left_camera.compressed.metadata"] = (
        "/a/lake/_schemas/" + "f" * 64 + ".json: bad"
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def page(tmp_path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(render(findings()))
    return path


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_is_drawn_in_light_and_in_dark(browser, page, screen):
    with browser.open(page, screen) as tab:
        pixels = tab.pixels(whole=True)
        assert pixels.mean() > 0.8 and {FIRST_LIGHT, LOST_LIGHT} <= colours(pixels)
    with browser.open(page, screen, dark=True) as tab:
        pixels = tab.pixels(whole=True)
        assert pixels.mean() < 0.25 and {FIRST_DARK, LOST_DARK} <= colours(pixels)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_topic_has_its_own_colour(browser, page, dark):
    with browser.open(page, dark=dark) as tab:
        found = tab.evaluate(COLOURS)
    assert len(set(found)) == len(TOPICS)
    assert not {"none", "rgba(0, 0, 0, 0)", "rgb(0, 0, 0)"} & set(found)


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_outside_the_screen_and_first_columns_stay_visible(browser, page, screen):
    with browser.open(page, screen) as tab:
        for opened in (False, True):
            tab.evaluate(
                f"document.querySelectorAll('details').forEach((one) => one.open = {str(opened).lower()})"
            )
            assert tab.evaluate(OVERFLOWS) == []
            assert tab.evaluate(COVERED) == []
            if screen == DESKTOP:
                assert tab.evaluate(SCROLLED) == []


@pytest.mark.parametrize("screen", SCREENS)
def test_every_axis_has_at_least_two_ticks_which_do_not_touch(browser, page, screen):
    with browser.open(page, screen) as tab:
        axes = tab.evaluate(TICKS)
    assert len(axes) == (4 if screen == DESKTOP else 1)
    for ticks in axes:
        assert len(ticks) >= 2
        places = sorted((tick["x"], tick["x"] + tick["width"]) for tick in ticks)
        assert all(end < begin for (_, end), (begin, _) in itertools.pairwise(places)), places


@pytest.mark.parametrize("seconds", [1e-3, 0.3, 2, 7.9, 61, 150, 1000, 6000, 90_000, 150_000, 1e6, 3e7])
def test_the_axis_of_time_has_at_least_two_ticks_for_every_length(seconds):
    for began in range(0, 10**9, 77_777_777):
        begin_ns = BEGAN_NS + round(began * seconds)
        axis = traffic_over_time.Axis(begin_ns, round(seconds * 1e9 / 200), 200.0)
        assert 2 <= traffic_over_time._ticks(axis).count("<i") <= 8


@pytest.mark.parametrize("screen", SCREENS)
def test_the_pointer_shows_the_rate_of_every_topic_at_that_moment(browser, page, screen):
    with browser.open(page, screen) as tab:
        before = tab.evaluate(FIGURES)
        during = tab.evaluate(POINTER)
    assert before[:2] == ["103/s\npeak 106/s"] * 2
    assert during[2:] == ["101/s", '101/s<small class="bad">7 lost</small>', "101/s"]


def test_gaps_are_one_block_for_each_topic_with_the_largest_visible(browser, page):
    gaps = '[...document.querySelectorAll(".gaps tbody tr")].filter((row) => row.checkVisibility())'
    with browser.open(page) as tab:
        assert tab.evaluate('document.querySelector(".gaps h3").textContent') == (
            "imu99 gaps · 105 lost · 40 abandoned"
        )
        shown = tab.evaluate(f"{gaps}.map((row) => row.children[2].textContent)")
        assert len(shown) == 3 and "7" in shown
        assert tab.evaluate('document.querySelector(".gaps summary").textContent') == "96 smaller gaps"
        tab.evaluate('document.querySelector(".gaps details").open = true')
        assert tab.evaluate(f"{gaps}.length") == GAPS


def test_fields_are_one_table_for_each_topic_with_what_is_not_computed(browser, page):
    with browser.open(page) as tab:
        rows = '[...document.querySelectorAll(".fields tbody tr")].filter((row) => row.checkVisibility())'
        assert tab.evaluate(f"{rows}.length") == 6  # the 20 of the lidar are folded
        assert tab.evaluate(f"[...{rows}[0].children].map((cell) => cell.innerText)") == [
            *("t", "float64", "-1.79769e+308", "-6.17284e-07", "-3.08642e-06", "-6.17284e-06"),
            *("-9.25926e-06", "-1.17284e-05", "1.84467e+19", "10,300", "7", "0"),
        ]
        notes = tab.evaluate('[...document.querySelectorAll(".fields .note")].map((one) => one.innerText)')
    assert notes[0].endswith("_schemas/" + "f" * 64 + ".json: bad")
    assert notes[1].startswith("3 undecodable messages, which no figure includes. The first is sequence 17")
    assert notes[2].startswith("40 more fields not computed: point_0.reflectivity, ")


def test_a_recording_of_untyped_topics_has_no_section_of_fields():
    found = findings()
    found.fields, found.undecodable, found.fields_left_out, found.fields_unread = [], [], {}, {}
    assert 'class="fields"' not in render(found)


def regular(topic, hz, seconds, first=0):
    return [message(topic, n, first + n * S // hz) for n in range(seconds * hz + 1)]


def test_a_topic_of_a_short_recording_is_drawn_with_its_true_rate(spark, browser, tmp_path):
    rows = regular("1hz", 1, 10) + regular("10hz", 10, 10) + regular("100hz", 100, 10)
    rows += [*regular("burst", 100, 1, first=5 * S), message("once", 0, 3 * S)]
    rows += [hole("10hz", 101, 5, 3, at_ns=10 * S)]
    found = find(Report(spark, frame(spark, rows)), "short")
    write_page(found, tmp_path / "page.html")
    with browser.open(tmp_path / "page.html") as tab:
        figures = dict(zip(sorted({row[0] for row in rows}), tab.evaluate(FIGURES), strict=True))
        data = tab.evaluate('JSON.parse(document.getElementById("data").textContent)')
    assert {topic: figure.split("\n")[0] for topic, figure in figures.items()} == {
        **{"1hz": "1/s", "10hz": "10/s", "100hz": "100/s", "burst": "100/s", "once": "1 message"}
    }
    assert {row["topic"]: round(row["rate_hz"] or 0) for row in found.topics} == {
        **{"1hz": 1, "10hz": 10, "100hz": 100, "burst": 100, "once": 0}
    }
    drawn = dict(zip(sorted(figures), data["tracks"], strict=True))
    for topic, hz in (("1hz", 1), ("10hz", 10), ("100hz", 100)):
        assert drawn[topic]["messages"] == pytest.approx([hz] * len(drawn[topic]["messages"]), rel=0.3), topic
    assert max(drawn["burst"]["messages"]) > 80 and min(drawn["burst"]["messages"]) == 0
    assert sum(drawn["10hz"]["lost"]) == 3


def test_the_page_loads_nothing_from_elsewhere(page):
    text = page.read_text()
    assert not re.search(r"https?://|@import|url\(|<img|<iframe", text)
    assert "default-src 'none'" in text
    assert "<i>odd</i>" not in text and "&lt;i&gt;odd&lt;/i&gt;" in text


def test_a_second_script_does_not_run(browser, page):
    page.write_text(page.read_text().replace("</body>", "<script>document.body.id='ran'</script></body>"))
    with browser.open(page, PHONE) as tab:
        assert tab.evaluate("document.body.id") == ""
