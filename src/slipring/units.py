# SPDX-License-Identifier: Apache-2.0
"""Text for people from sizes, counts, durations, times and names."""

from __future__ import annotations

import datetime


def size(count: float) -> str:
    """Format an amount of memory in powers of 1024: ``16 MiB``."""
    return _scaled(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def speed(bytes_per_s: float) -> str:
    """Format traffic in powers of 1000: ``1.25 MB/s``."""
    return _scaled(bytes_per_s, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))


def number(count: float) -> str:
    """Format a count with separated thousands: ``1,250``."""
    return f"{count:,.0f}"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 topic``, ``2 topics``."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def quantity(value: float) -> str:
    """Format a value of any size and sign with six digits: ``-9.80665``, ``1.5e+09``."""
    return f"{value:.6g}"


def frequency(per_second: float) -> str:
    """Format a number of events each second, with decimals below 1,000."""
    return number(per_second) if per_second >= 1000 else _three_digits(per_second)


def duration(seconds: float | None) -> str:
    """Format a duration: ``12.5 µs``, ``3.2 s``, ``2h05m``; a dash for None."""
    if seconds is None:
        return "-"
    if seconds < 60:
        for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if seconds >= scale:
                return f"{_three_digits(seconds / scale)} {unit}"
        return f"{seconds * 1e9:.0f} ns"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours:02}h"
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"


def stopwatch(seconds: float) -> str:
    """Format the duration of a running operation, in tenths of a second at first: ``0.3 s``, ``2h05m``."""
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)


def moment(time_ns: int) -> str:
    """Format a time of the wall clock as local time."""
    stamp = datetime.datetime.fromtimestamp(time_ns / 1e9).astimezone()
    return stamp.isoformat(sep=" ", timespec="milliseconds")


def printable(text: str) -> str:
    """Escape the characters of a text that could control a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _scaled(count: float, step: int, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if count < step:
            return f"{count:.0f} {unit}" if unit == units[0] else f"{_three_digits(count)} {unit}"
        count /= step
    return f"{_three_digits(count)} {units[-1]}"


def _three_digits(count: float) -> str:
    decimals = 0 if count >= 100 else 1 if count >= 10 else 2
    text = f"{count:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
