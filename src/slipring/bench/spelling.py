# SPDX-License-Identifier: Apache-2.0
"""Figures for the eye: three digits, and the unit that the figure's name ends with."""

from __future__ import annotations

_SECONDS = {"_ns": 1e-9, "_us": 1e-6, "_ms": 1e-3}
_HEADINGS = {"cpu_s_per_million": "CPU each", "bytes_per_s": "speed", "gb_per_s": "GB/s", "ms": "time"}


def number(value: float) -> str:
    """With a prefix: 13.4 M, 502 k, 0.48."""
    for limit, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        # 999.6 has four digits by then.
        if abs(value) >= limit * 0.9995:
            return f"{value / limit:.3g}{prefix}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= limit * 0.9995:
            return f"{seconds / limit:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def spelled(figure: str, value: float) -> str:
    """A value of a figure with its unit: messages_per_s 13.4 M/s, p99_us 1.02 µs."""
    if figure == "cpu_s_per_million":
        return duration(value * 1e-6)
    if figure == "bytes_per_s":
        text = number(value)
        return f"{text}B/s" if text[-1].isalpha() else f"{text} B/s"
    if figure.startswith("ns_per_") or "_ns_per_" in figure:
        return duration(value * 1e-9)
    for end, factor in _SECONDS.items():
        if figure.endswith(end) or figure == end[1:]:
            return duration(value * factor)
    if figure.endswith("_per_s") and figure != "gb_per_s":
        return f"{number(value)}/s"
    return f"{number(value)} %" if figure.endswith("_percent") else number(value)


def heading(figure: str) -> str:
    """A figure's name without the unit that its values carry: messages_per_s is messages."""
    if figure in _HEADINGS:
        return _HEADINGS[figure]
    for end in ("_per_s", *_SECONDS, "_percent"):
        figure = figure.removesuffix(end)
    return figure.replace("ns_per_", "").replace("_", " ")
