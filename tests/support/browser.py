# SPDX-License-Identifier: Apache-2.0
"""A real browser for the pages: headless Chromium, driven by its debugging protocol over a pipe.

with Browser(profile) as browser:                     one process for many pages
    with browser.open(path, PHONE, dark=True) as tab: a page on a screen of that size
        tab.evaluate("1 + 1")                         the value of an expression in the page
        tab.pixels()                                  what is on the screen: rows x columns x red, green, blue
OVERFLOWS, COVERED      expressions: sentences about what is outside the screen, or cut
"""

import base64
import fcntl
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.waiting import WATCHDOG_S


class Screen(NamedTuple):
    width: int
    height: int


DESKTOP, PHONE = Screen(1280, 800), Screen(390, 844)
SCREENS = [pytest.param(DESKTOP, id="desktop"), pytest.param(PHONE, id="phone")]

# Every table and drawing, or the box it scrolls in, is between the left and the right edge of the screen.
# Texts of a drawing are inside it.
OVERFLOWS = """(() => {
  const found = [], width = screen.width;
  const name = (one) => one.tagName.toLowerCase() + " in " + (one.closest("section")?.querySelector("h2")?.textContent);
  const scrolling = (one) => { for (let box = one; box; box = box.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return box; };
  if (document.documentElement.scrollWidth > width) found.push("the page is wider than the screen");
  for (const one of document.querySelectorAll("table, svg, img, section, h1, p")) {
    const box = (scrolling(one) ?? one).getBoundingClientRect();
    if (box.left < -0.5 || box.right > width + 0.5) found.push(name(one) + " is outside the screen");
  }
  for (const text of document.querySelectorAll("svg text")) {
    const inner = text.getBoundingClientRect(), outer = text.ownerSVGElement.getBoundingClientRect();
    if (inner.left < outer.left - 1 || inner.right > outer.right + 1 ||
        inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1)
      found.push("the text '" + text.textContent + "' is cut");
  }
  return found;
})()"""

# Tables that scroll show their first column at every scroll position.
COVERED = """(() => {
  const found = [];
  for (const table of document.querySelectorAll("table")) {
    const box = table.parentElement, first = table.querySelector("tbody tr > *");
    if (!first?.checkVisibility()) continue;
    box.scrollLeft = box.scrollWidth;
    first.scrollIntoView({block: "center", inline: "nearest"});
    box.scrollLeft = box.scrollWidth;
    const place = first.getBoundingClientRect();
    const seen = document.elementFromPoint(place.left + 4, place.top + place.height / 2);
    if (!first.contains(seen)) found.push("'" + first.textContent + "' is not seen");
    box.scrollLeft = 0;
  }
  return found;
})()"""


class Browser:
    def __init__(self, profile: Path) -> None:
        found = shutil.which("chromium")
        if found is None:
            pytest.fail("there is no chromium to look at the pages with: apt-get install chromium")
        orders, self._orders = _pipe()
        self._answers, answers = _pipe()
        # The protocol is spoken on descriptors 3 and 4.
        start = f"import os, sys; os.dup2({orders}, 3); os.dup2({answers}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-ISc", start, found, "--headless", "--no-sandbox", "--disable-gpu"),
                *("--disable-background-networking", "--no-first-run", "--hide-scrollbars"),
                *("--remote-debugging-pipe", f"--user-data-dir={profile}"),
            ],
            pass_fds=(orders, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(orders)
        os.close(answers)
        self._number, self._unread, self._events = 0, b"", []

    def open(self, page: Path, screen: Screen = DESKTOP, dark: bool = False) -> "Tab":
        return Tab(self, page, screen, dark)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        os.write(
            self._orders,
            json.dumps({**order, **({"sessionId": session} if session else {})}).encode() + b"\0",
        )
        while (answer := self._next()).get("id") != self._number:
            self._events.append(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait(self, method: str, session: str) -> None:
        """Until an event of a session."""
        while not any(
            one.get("method") == method and one.get("sessionId") == session for one in self._events
        ):
            self._events.append(self._next())
        self._events.clear()

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + WATCHDOG_S
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._answers, 1 << 20) if ready else b""
            assert chunk, "chromium does not answer"
            self._unread += chunk
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._orders)  # it ends when nobody can give it orders any more
        os.close(self._answers)
        try:
            self._process.wait(WATCHDOG_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Tab:
    def __init__(self, browser: Browser, page: Path, screen: Screen, dark: bool) -> None:
        self._browser = browser
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        size = {"width": screen.width, "height": screen.height}
        sizes = {**size, "screenWidth": screen.width, "screenHeight": screen.height}
        self._call(
            "Emulation.setDeviceMetricsOverride", **sizes, deviceScaleFactor=1, mobile=screen.width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.enable")
        self._call("Page.navigate", url=page.as_uri())
        browser.wait("Page.loadEventFired", self._session)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> Any:
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def png(self, whole: bool = False) -> bytes:
        """A picture of the screen, or of the whole page."""
        area: dict[str, Any] = {}
        if whole:
            size = self._call("Page.getLayoutMetrics")["cssContentSize"]
            area = {"clip": {**size, "scale": 1}, "captureBeyondViewport": True}
        taken = self._call("Page.captureScreenshot", format="png", **area)
        return base64.b64decode(taken["data"])

    def pixels(self, whole: bool = False) -> Any:
        from matplotlib import image

        return image.imread(io.BytesIO(self.png(whole)))[:, :, :3]

    def __enter__(self) -> "Tab":
        return self

    def __exit__(self, *exc: object) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)


def colours(pixels: Any) -> set[tuple[int, ...]]:
    """The colours of more than a few pixels."""
    import numpy as np

    whole = (pixels * 255).round().astype(np.uint8).reshape(-1, 3)
    found, counts = np.unique(whole, axis=0, return_counts=True)
    return {tuple(map(int, colour)) for colour in found[counts > 20]}


def _pipe() -> tuple[int, int]:
    """A pipe whose descriptors are none of those the protocol is spoken on."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
