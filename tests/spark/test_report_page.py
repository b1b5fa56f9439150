# SPDX-License-Identifier: Apache-2.0
"""The report's page in a real browser: drawn in light, in the dark and on a phone, alive under the pointer."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from slipring.pipelines.report.findings import Findings
from slipring.pipelines.report.page import render

S = 10**9
BEGAN_NS = 1_794_800_000 * S
TOPICS = ("imu", "lidar", "<i>odd</i>")
FIRST_LIGHT, FIRST_DARK = (42, 120, 214), (74, 151, 240)
LOST_LIGHT, LOST_DARK = (217, 47, 58), (255, 91, 98)
POINTER = """
<script>
const plot = document.querySelector(".traffic .plot").getBoundingClientRect();
const at = { clientX: plot.left + plot.width * 0.5, clientY: plot.top + 5, bubbles: true };
document.querySelector(".traffic .plot").dispatchEvent(new PointerEvent("pointermove", at));
document.body.dataset.wide = String(document.documentElement.scrollWidth > innerWidth);
</script>
"""


def five(name, low):
    return {f"{name}_{part}": low * (at + 1) for at, part in enumerate(("p50", "p90", "p99", "p99_9", "max"))}


def findings() -> Findings:
    """Three topics for 100 s, one of which lost 7 messages half-way."""
    found = Findings("lake", BEGAN_NS + 200 * S)
    found.totals = {
        **{"messages": 30_000, "bytes": 1_200_000, "gaps": 1, "lost": 7, "calls": 0, "errors": 0},
        **{"topics": 3, "first_ns": BEGAN_NS, "last_ns": BEGAN_NS + 100 * S, "seconds": 100.0},
    }
    for topic in TOPICS:
        amounts = {
            "topic": topic,
            "messages": 10_000,
            "bytes": 400_000,
            "lost": 7 * (topic == "imu"),
            "gaps": 0,
        }
        rates = {"rate_hz": 100.0, "bytes_per_s": 4000.0, "lost_share": 0.0}
        some = {
            "senders": 1,
            "types": 1,
            "generations": 1,
            "first_ns": BEGAN_NS,
            "last_ns": BEGAN_NS + 100 * S,
        }
        timing = {"silent_from_ns": BEGAN_NS, **five("interval_s", 0.01), **five("delay_s", 0.05)}
        found.topics.append({**amounts, **rates, **some, **five("size", 40.0), **timing})
        for second in range(100):
            lost = 7 if topic == "imu" and second == 50 else 0
            step = {"topic": topic, "time_ns": BEGAN_NS + second * S, "messages": 100 + second % 7}
            found.rates.append({**step, "bytes": 4000, "lost": lost})
        for measure, first in (("size", 12), ("interval", 56), ("delay", 60)):
            steps = ({"step": first + at, "messages": 100 * (at + 1)} for at in range(8))
            found.distributions += [{"measure": measure, "topic": topic, **step} for step in steps]
    return found


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.fail("there is no chromium to look at the report with: apt-get install chromium")
    return found


def browse(chromium: str, page: Path, profile: Path, *settings: str) -> str:
    """What chromium prints about a page."""
    done = subprocess.run(
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--no-first-run", f"--user-data-dir={profile}", "--hide-scrollbars", *settings, page.as_uri()),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=110,
    )
    return done.stdout


def colours(chromium: str, page: Path, profile: Path, width: int, *settings: str) -> tuple[float, set]:
    """How bright a page is, and its colours."""
    shot = profile / "shot.png"
    browse(chromium, page, profile, f"--window-size={width},1600", f"--screenshot={shot}", *settings)
    pixels = image.imread(shot)[:, :, :3]
    whole = (pixels * 255).round().astype(np.uint8).reshape(-1, 3)
    found, counts = np.unique(whole, axis=0, return_counts=True)
    return float(pixels.mean()), {tuple(map(int, colour)) for colour in found[counts > 20]}


@pytest.fixture
def page(tmp_path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(render(findings()))
    return path


@pytest.mark.parametrize("width", [1240, 500])
def test_the_page_is_drawn_in_light_and_in_the_dark(chromium, page, tmp_path, width):
    bright, found = colours(chromium, page, tmp_path, width, "--blink-settings=preferredColorScheme=1")
    assert bright > 0.8 and {FIRST_LIGHT, LOST_LIGHT} <= found
    dark = ("--blink-settings=preferredColorScheme=0", "--force-dark-mode")
    bright, found = colours(chromium, page, tmp_path, width, *dark)
    assert bright < 0.25 and {FIRST_DARK, LOST_DARK} <= found


@pytest.mark.parametrize("width", [1240, 500])
def test_the_pointer_shows_what_every_lane_carried_at_that_moment(chromium, page, tmp_path, width):
    text = page.read_text()
    assert text.count("Content-Security-Policy") == 1
    moving = tmp_path / "moving.html"  # the policy lets no other script run: this copy has none
    moving.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", f"{POINTER}</body>"))
    seen = browse(chromium, moving, tmp_path, f"--window-size={width},1600", "--dump-dom")
    lanes = re.findall(r'<div class="figure">(.*?)</div>', seen.split("Distributions")[0])
    assert lanes[:3] == ['101/s<small class="bad">7 lost</small>', "101/s", "101/s"]
    assert 'data-wide="false"' in seen, "the page is wider than the screen"


def test_the_page_needs_nothing_from_anywhere(page):
    text = page.read_text()
    assert not re.search(r"https?://|@import|url\(|<img|<iframe", text)
    assert "default-src 'none'" in text
    assert "<i>odd</i>" not in text and "&lt;i&gt;odd&lt;/i&gt;" in text


def test_a_second_script_does_not_run(chromium, page, tmp_path):
    page.write_text(page.read_text().replace("</body>", "<script>document.body.id='ran'</script></body>"))
    assert 'id="ran"' not in browse(chromium, page, tmp_path, "--dump-dom")
