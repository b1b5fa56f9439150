# SPDX-License-Identifier: Apache-2.0
"""Compute the printed, plotted and committed numbers from samples, gaps and journals."""

from typing import Any

import numpy

from soak import plan
from soak.flatness import Samples
from storm.audit import Claim, Life, Topic, judge
from storm.journal import Kind

STALLED_S = 10.0  # a survivor without progress for so long after a kill has stalled
PERCENTS = (50, 90, 99, 99.9, 100)
Gaps = list[dict[str, Any]]


def by_survivor(gaps: Gaps) -> dict[str, list[float]]:
    """Return the longest gaps of each survivor between strikes. A line has those since the previous strike."""
    names = gaps[-1]["gaps_ms"] if gaps else {}
    return {name: [line["gaps_ms"][name] for line in gaps[1:]] for name in names}


def percentiles(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {f"p{percent:g}": round(float(numpy.percentile(values, percent)), 2) for percent in PERCENTS}


def survivors_went_on(gaps: Gaps, stalled_s: float = STALLED_S) -> Claim:
    found = by_survivor(gaps)
    faults = [
        f"{name} stood still for {max(values) / 1e3:.1f} s"
        for name, values in found.items()
        if max(values, default=0) >= stalled_s * 1e3
    ]
    faults += [] if any(found.values()) else ["no strike was survived by anybody"]
    every = [value for values in found.values() for value in values]
    told = ", ".join(f"{name} {value:,.0f}" for name, value in percentiles(every).items())
    return judge("Survivors went on after every strike", faults, f"longest gap after each, ms: {told}")


def cores(samples: Samples) -> dict[str, float]:
    """Return the average number of processors in use by the soak and by the recording."""

    def used(sample: dict[str, Any]) -> float:
        own = sample["supervisor"]["cpu_s"] + sample["fork_server"]["cpu_s"] + sample["children_cpu_s"]
        return float(own + sum(process["cpu_s"] for process in sample["processes"].values()))

    seconds = samples[-1]["s"] - samples[0]["s"]
    found = {"soak": (used(samples[-1]) - used(samples[0])) / seconds}
    if "recording" in samples[-1]:
        found["recording"] = (samples[-1]["recording"]["cpu_s"] - samples[0]["recording"]["cpu_s"]) / seconds
    return {name: round(value, 3) for name, value in found.items()}


def losses_over_time(topic: Topic) -> tuple[list[float], list[int], list[int]]:
    """Return for the napping reader: seconds, losses it counted, losses by the journals."""
    reading = max(topic.of(plan.NAPPING), key=lambda reading: len(reading.counted))
    audited = topic.between(reading.begin, reading.positions) - (reading.told - reading.lost)
    seconds = (reading.counted["time_ns"].astype(float) - float(reading.start["time_ns"])) / 1e9
    return seconds.tolist(), reading.lost.tolist(), audited.tolist()


def sizes(lives: list[Life]) -> dict[str, int]:
    largest, empty, count = 0, 0, 0
    for life in lives:
        found = life.of(Kind.RECEIVED)["d"]
        largest = max(largest, int(found.max(initial=0)))
        empty, count = empty + int((found == 0).sum()), count + len(found)
    return {"receptions": count, "empty_receptions": empty, "largest_bytes": largest}


def memory(samples: Samples) -> dict[str, dict[str, float]]:
    """Return MiB and descriptors of each process and of Spark, at the start and at the end."""
    found = {}
    for name in samples[-1]["processes"]:
        found[name] = [sample["processes"][name] for sample in samples]
    for name in ("supervisor", "fork_server", "recording"):
        if name in samples[-1]:
            found[name] = [sample[name] for sample in samples]
    quarter = len(samples) // 4
    return {
        name: {
            "rss_mib_second_quarter": round(
                float(numpy.median([s["rss_kib"] for s in series[quarter : 2 * quarter]])) / 1024, 1
            ),
            "rss_mib_last_quarter": round(
                float(numpy.median([s["rss_kib"] for s in series[-quarter:]])) / 1024, 1
            ),
            "own_mib_second_quarter": round(
                float(numpy.median([s["own_kib"] for s in series[quarter : 2 * quarter]])) / 1024, 1
            ),
            "own_mib_last_quarter": round(
                float(numpy.median([s["own_kib"] for s in series[-quarter:]])) / 1024, 1
            ),
            "descriptors_first": series[0]["descriptors"],
            "descriptors_last": series[-1]["descriptors"],
        }
        for name, series in found.items()
    }


def topics(stats: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    return {
        topic: {name: stats[topic][name] for name in ("published", "abandoned", "bytes")}
        for topic in plan.TOPICS
    }
