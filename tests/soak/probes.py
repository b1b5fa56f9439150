# SPDX-License-Identifier: Apache-2.0
"""Measure memory, descriptors and processor time of processes, and entries and files of the bus."""

import os
from pathlib import Path
from typing import Any

_TICK = os.sysconf("SC_CLK_TCK")


def process(pid: int) -> dict[str, float]:
    """Return the figures of a process. own_kib is resident memory without mapped rings, which count as files."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    kib = {name: int(status[name].split()[0]) for name in ("VmRSS", "RssShmem")}
    return {
        "rss_kib": kib["VmRSS"],
        "own_kib": kib["VmRSS"] - kib["RssShmem"],
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "cpu_s": cpu_s(pid),
    }


def cpu_s(pid: int, of_children: bool = False) -> float:
    """Return the processor time so far. of_children: that of its reaped children instead."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    first = 13 if of_children else 11
    return (int(fields[first]) + int(fields[first + 1])) / _TICK


def group(leader: int) -> dict[str, float]:
    """Return the figures of all processes of a group, such as driver, JVM and workers of Spark."""
    found = {"rss_kib": 0.0, "own_kib": 0.0, "descriptors": 0.0, "cpu_s": 0.0}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.getpgid(int(entry.name)) == leader:
                for name, value in process(int(entry.name)).items():
                    found[name] += value
        except (OSError, KeyError, IndexError):
            continue  # the process has ended
    return found


def bus_root(path: Path) -> dict[str, int]:
    files = [entry for entry in path.rglob("*") if entry.is_file()]
    return {"files": len(files), "bytes": sum(entry.stat().st_size for entry in files)}


def tables(bus: Any, topics: list[str]) -> dict[str, int]:
    """Return the number of used entries, including those of dead processes not yet swept."""
    stats = [bus.stats(topic) for topic in topics]
    kinds = ("publishers", "readers", "cursors")
    return {kind: sum(len(stat[kind]) for stat in stats) for kind in kinds}
