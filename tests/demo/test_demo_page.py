# SPDX-License-Identifier: Apache-2.0
"""The demo's page in a real browser: on a desktop and on a phone, in light and in dark; and its texts."""

import re
from pathlib import Path

import honest_evidence as honest
import pytest
from demo.page import document

from demo import audit, robot
from support.browser import COVERED, OVERFLOWS, SCREENS, Browser, colours

pytestmark = pytest.mark.timeout(400)
IMU_LIGHT, IMU_DARK, KILL_LIGHT, KILL_DARK = (42, 120, 214), (74, 151, 240), (217, 47, 58), (255, 91, 98)
TRANSPARENT = {"none", "transparent", "rgba(0, 0, 0, 0)", "rgb(0, 0, 0)", ""}
SWATCHES = """Object.fromEntries([...document.querySelector(".key").querySelectorAll("span")]
  .map((one) => [one.textContent, getComputedStyle(one.querySelector("i")).backgroundColor]))"""
# The colours in which a topic is drawn: bars of its processes, its curve, its dots.
DRAWN = """(topic) => [["bar", "fill"], ["curve", "stroke"], ["area", "fill"], ["dot", "fill"]]
  .map(([kind, name]) => [kind, ...new Set([...document.querySelectorAll(`.t-${topic} .${kind}`)]
  .map((one) => getComputedStyle(one)[name]))])"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def page(show) -> Path:
    return show[3] / "report.html"


def test_the_page_renders_with_its_charts_in_light(browser, page):
    with browser.open(page) as tab:
        pixels = tab.pixels(whole=True)
    assert pixels.mean() > 0.8
    assert {IMU_LIGHT, KILL_LIGHT} <= colours(pixels)


def test_the_page_renders_with_its_charts_in_dark(browser, page):
    with browser.open(page, dark=True) as tab:
        pixels = tab.pixels(whole=True)
    assert pixels.mean() < 0.2
    assert {IMU_DARK, KILL_DARK} <= colours(pixels)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_topic_has_one_colour_of_its_own_in_key_bars_curves_and_dots(browser, page, dark):
    with browser.open(page, dark=dark) as tab:
        swatches = tab.evaluate(SWATCHES)
        found = {topic: swatches[topic] for topic in robot.TOPIC_NAMES}
        assert len(set(found.values())) == len(found)
        assert not TRANSPARENT & set(found.values())
        for topic, colour in found.items():
            for kind, *drawn in tab.evaluate(f"({DRAWN})('{topic}')"):
                assert drawn == [colour], (topic, kind)


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_cut_and_nothing_is_outside_the_screen(browser, page, screen):
    with browser.open(page, screen) as tab:
        assert tab.evaluate(OVERFLOWS) == []
        assert tab.evaluate(COVERED) == []


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_of_a_very_short_run_is_complete(browser, tmp_path, screen):
    page = tmp_path / "page.html"
    page.write_text(rendered(honest.make()))
    with browser.open(page, screen) as tab:
        assert tab.evaluate(OVERFLOWS) == []


def rendered(evidence) -> str:
    return document.render(evidence, audit.examine(evidence), "python -m demo --seed 1", 0.0)


def test_the_text_on_the_slow_reader_has_its_figures():
    assert robot.COMPONENTS["viewer"].topics == robot.COMPONENTS["logger"].topics
    text = rendered(honest.make())  # 0.1 s, in which 2 clouds are sent, and the logger reads one of them
    assert (
        "The logger sleeps 0.1 s after each message of lidar. It read 10 a second of 20, from a ring" in text
    )
    assert "about 3.2 s of them" in text
    assert "The viewer reads the same topic without sleeping: it read 2 and lost 0." in text


def test_the_figure_beside_a_curve_is_the_mean_rate_of_the_topic():
    svg = rendered(honest.make()).split("Rate of each topic")[1].split("</section>")[0]
    assert re.findall(r'class="value" text-anchor="end">([^<]*)<', svg) == [
        "90/s",
        "20/s",
        "30/s",
        "40/s",
        "40/s",
    ]


def test_kills_and_stops_are_those_of_the_run():
    text = rendered(honest.make())
    assert "2 times one was killed and started again, 0 times one was stopped" in text
    assert "run it again: <code>python -m demo --seed 1</code>" in text
