# SPDX-License-Identifier: Apache-2.0
"""Are the two processors near or far from each other right now? Samples are compared only with their like."""

from __future__ import annotations

import subprocess
from pathlib import Path

# Seen: 95-145 ns when near, 440-560 ns when far.
FAR_FROM_NS = 250.0


def cache_line_ns(probe: Path | None) -> float | None:
    """The round trip of a cache line; None without a probe, or on one processor: samples then carry no label."""
    if probe is None:
        return None
    try:
        done = subprocess.run([probe], capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout) if done.returncode == 0 else None


def label(before_ns: float | None, after_ns: float | None) -> str:
    """near, far, moved (changed while sampling) or unknown."""
    if before_ns is None or after_ns is None:
        return "unknown"
    before_far, after_far = before_ns >= FAR_FROM_NS, after_ns >= FAR_FROM_NS
    if before_far != after_far:
        return "moved"
    return "far" if before_far else "near"
