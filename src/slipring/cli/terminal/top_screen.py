# SPDX-License-Identifier: Apache-2.0
"""The screen of ``slipring top``: rows that keys scroll, sort and filter, on the alternate screen of the terminal.

Every end of the command restores the terminal.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Self

from slipring.cli.terminal import output
from slipring.units import counted, printable

_ENTER, _LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"
_KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_NAMES = {
    **dict.fromkeys(("\x1b[A", "\x1bOA", "k"), "up"),
    **dict.fromkeys(("\x1b[B", "\x1bOB", "j"), "down"),
    **dict.fromkeys(("\x1b[5~", "b"), "page up"),
    **dict.fromkeys(("\x1b[6~", " "), "page down"),
    **dict.fromkeys(("\x1b[H", "\x1bOH", "\x1b[1~", "g"), "home"),
    **dict.fromkeys(("\x1b[F", "\x1bOF", "\x1b[4~", "G"), "end"),
}
_KEYS = "q quit  up/down scroll  s sort  / filter"


def matches(topic: str, pattern: str) -> bool:
    """Whether ``topic`` contains ``pattern``, or matches it if it has wildcards; case is ignored."""
    topic, pattern = topic.lower(), pattern.lower()
    return fnmatchcase(topic, pattern) if set(pattern) & set("*?[") else pattern in topic


@dataclass
class View:
    """The visible part of the rows: order, filter and first row."""

    orders: Sequence[str]
    order: str
    pattern: str = ""
    first: int = 0
    typing: bool = False

    def press(self, key: str, page: int) -> bool:
        """Act on a key; return False if the key ends the screen."""
        if self.typing:
            self._type(key)
            return True
        name = _NAMES.get(key, key)
        steps = {"up": -1, "down": 1, "page up": -page, "page down": page}
        if name in steps:
            self.first += steps[name]
        elif name in ("home", "end"):
            self.first = 0 if name == "home" else sys.maxsize
        elif name == "s":
            self.order = self.orders[(self.orders.index(self.order) + 1) % len(self.orders)]
        elif name == "/":
            self.typing, self.pattern, self.first = True, "", 0
        elif name == "\x1b":
            self.pattern = ""
        return name not in ("q", "Q")

    def _type(self, key: str) -> None:
        if key in ("\r", "\n"):
            self.typing = False
        elif key == "\x1b":
            self.typing, self.pattern = False, ""
        elif key in ("\x7f", "\b"):
            self.pattern = self.pattern[:-1]
        elif key.isprintable() and len(key) == 1:
            self.pattern += key

    def lines(
        self, title: str, heading: str, rows: Sequence[str], hidden: int, height: int, width: int
    ) -> list[str]:
        """Return the lines of the screen; rows: those that match the filter; hidden: the number of the others."""
        page = max(height - 3, 1)
        self.first = min(max(self.first, 0), max(len(rows) - page, 0))
        shown = rows[self.first : self.first + page]
        lines = [title, heading, *shown, *[""] * (page - len(shown)), self._status(rows, len(shown), hidden)]
        is_cut = any(len(line) > width for line in (heading, *shown))
        if is_cut:
            lines[0] = f"(cut at the right edge: widen the terminal)  {title}"
        return [line[:width] for line in lines[:height]]

    def _status(self, rows: Sequence[str], shown: int, hidden: int) -> str:
        if self.typing:
            keys = f"(Enter keeps it, Esc clears it; {counted(hidden, 'topic')} hidden)"
            return f"filter: {printable(self.pattern)}_  {keys}"
        above, below = self.first, len(rows) - self.first - shown
        parts = [f"{self.first + 1 if shown else 0}-{self.first + shown} of {len(rows)}"]
        if above or below:
            parts.append(f"{above} above, {below} below")
        if self.pattern:
            parts.append(f"filter {printable(self.pattern)!r} hides {hidden}")
        return "  ".join([*parts, f"by {self.order}", _KEYS])


class Screen:
    """The alternate screen of the terminal, and its keys if stdin is a terminal, too."""

    def __init__(self) -> None:
        self._keys = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self._settings: list[Any] | None = None
        self._pressed: list[str] = []

    def __enter__(self) -> Self:
        if self._keys is not None:
            self._settings = termios.tcgetattr(self._keys)
            tty.setcbreak(self._keys, termios.TCSANOW)
        output.put(_ENTER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._keys is not None and self._settings is not None:
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(self._keys, termios.TCSANOW, self._settings)
        with contextlib.suppress(OSError):
            output.put(_LEAVE)

    @staticmethod
    def size() -> tuple[int, int]:
        """Return the terminal's rows and columns; $LINES and $COLUMNS do not follow its window."""
        found = os.get_terminal_size(sys.stdout.fileno())
        return found.lines or 24, found.columns or 80  # some terminals report no size

    def draw(self, lines: Sequence[str]) -> None:
        """Show ``lines``, the second one as a heading."""
        styled = [f"\x1b[1m{line}\x1b[m" if at == 1 else line for at, line in enumerate(lines)]
        text = "\x1b[H" + "\r\n".join(f"\x1b[K{line}" for line in styled)  # a full line needs no erasing
        output.put(text.encode("utf-8", "backslashreplace"))

    def key(self, due: float) -> str | None:
        """Return the next key, or None when ``time.monotonic()`` has reached ``due``."""
        while not self._pressed:
            left = due - time.monotonic()
            if left <= 0:
                return None
            watched = [] if self._keys is None else [self._keys]
            if select.select(watched, [], [], min(left, 3600.0))[0] and self._keys is not None:
                self._read(self._keys)
        return self._pressed.pop(0)

    def _read(self, descriptor: int) -> None:
        typed = os.read(descriptor, 1024)
        if not typed:  # hung up: no more keys will come
            self._keys = None
        self._pressed += _KEY.findall(typed.decode(errors="replace"))
