# SPDX-License-Identifier: Apache-2.0
"""What the figures were taken on: enough to judge them, nothing that identifies the machine."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def commit() -> str:
    """The revision measured, with ``+`` when the tree had changes on top."""
    try:
        asked = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def describe() -> dict[str, object]:
    return {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        # Only the version: the rest may name the person who built it.
        "kernel": re.split(r"[^0-9.]", platform.release())[0],
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libc": " ".join(platform.libc_ver()),
        "load_at_start": os.getloadavg()[0],
    }
