# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser, in light and in dark."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium")
    if found is None:
        pytest.fail("there is no chromium to look at the demo's report with: apt-get install chromium")
    return found


@pytest.fixture
def page(show) -> Path:
    return show[3] / "report.html"


def look(chromium: str, page: Path, profile: Path, *settings: str) -> np.ndarray:
    """The page as pixels: rows x columns x red, green, blue between 0 and 1."""
    shot = profile / "shot.png"
    subprocess.run(
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--no-first-run", f"--user-data-dir={profile}", "--hide-scrollbars", "--window-size=1240,2600"),
            *settings,
            f"--screenshot={shot}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=200,
    )
    return image.imread(shot)[:, :, :3]


def colours(pixels: np.ndarray) -> set[tuple[int, ...]]:
    whole = (pixels * 255).round().astype(np.uint8).reshape(-1, 3)
    found, counts = np.unique(whole, axis=0, return_counts=True)
    return {tuple(map(int, colour)) for colour in found[counts > 20]}


IMU_LIGHT, IMU_DARK, KILL_LIGHT, KILL_DARK = (42, 120, 214), (74, 151, 240), (217, 47, 58), (255, 91, 98)


def test_the_page_renders_with_its_charts_in_light(chromium, page, tmp_path):
    pixels = look(chromium, page, tmp_path, "--blink-settings=preferredColorScheme=1")
    assert pixels.shape[:2] == (2600, 1240)
    assert pixels.mean() > 0.8
    assert {IMU_LIGHT, KILL_LIGHT} <= colours(pixels)


def test_the_page_renders_with_its_charts_in_dark(chromium, page, tmp_path):
    pixels = look(chromium, page, tmp_path, "--blink-settings=preferredColorScheme=0", "--force-dark-mode")
    assert pixels.mean() < 0.2
    assert {IMU_DARK, KILL_DARK} <= colours(pixels)
