# SPDX-License-Identifier: Apache-2.0
"""Parse the text of options into numbers, lists, sizes and times; every error names the option."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from slipring._bus import settings
from slipring.errors import BadArgument

from .errors import BadOption

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


class OptionTexts:
    """The options of one DataFrame. Their names are not case-sensitive, because Spark does not keep the case."""

    def __init__(self, given: Mapping[str, str], known: tuple[str, ...]) -> None:
        names = {name.lower(): name for name in known}
        self._texts: dict[str, str] = {}
        for key, text in given.items():
            # defect spark_unknown_option_ignored: if False:
            if key.lower() not in names:
                near = difflib.get_close_matches(key.lower(), names, 1)
                hint = f"did you mean {names[near[0]]}?" if near else f"the options are {', '.join(known)}"
                raise BadOption(key, f"format slipring has no such option: {hint}")
            self._texts[names[key.lower()]] = str(text)

    def __contains__(self, option: str) -> bool:
        return option in self._texts

    def text(self, option: str) -> str | None:
        text = self._texts.get(option)
        if text is not None and not text.strip():
            raise BadOption(option, "it is empty: give a value, or omit the option")
        return text

    def not_both(self, option: str, other: str, why: str) -> None:
        if option in self and other in self:
            raise BadOption(option, f"it contradicts option {other}: {why}")

    def number(self, option: str) -> int | None:
        text = self.text(option)
        if text is None:
            return None
        if not text.strip().isdigit() or not 0 < int(text) < 1 << 63:
            raise BadOption(option, f"{text!r} is not a whole number of at least 1")
        return int(text)

    def size(self, option: str) -> int | None:
        text = self.text(option)
        try:
            return None if text is None else settings.size_bytes(option, text)
        except BadArgument as error:
            raise BadOption(option, str(error)) from None

    def flag(self, option: str, default: bool) -> bool:
        text = self.text(option)
        if text is None:
            return default
        if text.strip().lower() not in ("true", "false"):
            raise BadOption(option, f"{text!r} is not true or false")
        return text.strip().lower() == "true"

    def duration_s(self, option: str) -> float | None:
        text = self.text(option)
        if text is None:
            return None
        match = _DURATION.fullmatch(text.strip().lower())
        if match is None or int(match[1]) == 0:
            raise BadOption(option, f"{text!r} is not a time such as 500ms, 30s, 15m, 2h or 7d")
        return int(match[1]) * _UNITS_MS[match[2]] / 1000

    def names(self, option: str) -> tuple[str, ...]:
        """Return a comma-separated list, in which no name may occur twice."""
        text = self.text(option)
        if text is None:
            return ()
        names = tuple(name.strip() for name in text.split(","))
        for name in names:
            if not name:
                raise BadOption(option, f"{text!r} has an empty name between its commas")
            if names.count(name) > 1:
                raise BadOption(option, f"{text!r} has {name} twice")
        return names

    def choice(self, option: str, choices: tuple[str, ...]) -> str | None:
        text = self.text(option)
        if text is not None and text.strip().upper() not in choices:
            raise BadOption(option, f"{text!r} is not one of {', '.join(choices)}")
        return None if text is None else text.strip().upper()
