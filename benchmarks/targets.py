# SPDX-License-Identifier: Apache-2.0
"""The targets Slipring sets itself, as data; target.py defines what one is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.target import Fastest, Other, Target, Which
from slipring.bench.summary import Samples

# A cost counts as flat while 64 subscribers, or a ring 4096 times larger, add no more than this factor.
FLAT = 1.25
MIB = 1 << 20
RATE = "messages_per_s"
ONE = ("throughput", "slipring size=64")
MANY = ("batches", "slipring-arrow size=64")
TRIP = ("round_trip", "slipring")
ASLEEP = ("round_trip", "slipring-sleeping")
CALL = ("calls", "slipring-calls")


def subscribers(state: str, count: int) -> tuple[str, str]:
    return ("publisher_cost", f"slipring-lossy state={state} subscribers={count}")


def ring(mode: str, capacity: int) -> tuple[str, str]:
    return ("ring_size", f"slipring-lossy mode={mode} capacity={capacity}")


def fanout(transport: str, count: int) -> tuple[str, str]:
    return ("fanout", f"{transport} subscribers={count}")


def in_place(size: int) -> tuple[str, str]:
    return ("in_place", f"slipring-in-place size={size}")


def at_least(
    limit: float, promise: str, figure: str, ours: Which, other: Other = None, **more: str
) -> Target:
    return Target(promise, figure, ours, other, limit, "at least", **more)


def at_most(limit: float, promise: str, figure: str, ours: Which, other: Other = None, **more: str) -> Target:
    return Target(promise, figure, ours, other, limit, "at most", **more)


ONE_AT_A_TIME = (
    at_least(20, "64 B one at a time: the fastest rival", RATE, ONE, Fastest("throughput", "size=64")),
    at_least(1 / 5, "64 B one at a time: the C core", RATE, ONE, ("throughput", "c-core size=64")),
    at_least(10, "64 B one at a time: pyzmq as it comes", RATE, ONE, ("throughput", "pyzmq-default size=64")),
    at_least(10, "64 B one at a time: pyzmq, deep queue", RATE, ONE, ("throughput", "pyzmq size=64")),
    at_least(20, "64 B one at a time: iceoryx2", RATE, ONE, ("throughput", "iceoryx2 size=64")),
)
MANY_AT_A_TIME = (
    at_least(100, "64 B into Arrow: the fastest rival", RATE, MANY, Fastest("batches", "size=64")),
    at_least(1 / 2, "64 B into Arrow: the C core", RATE, MANY, ("batches", "c-core size=64")),
    at_least(40, "64 B into Arrow: pyzmq as it comes", RATE, MANY, ("batches", "pyzmq-default size=64")),
    at_least(40, "64 B into Arrow: pyzmq, deep queue", RATE, MANY, ("batches", "pyzmq size=64")),
)
POLLING, SLEEPING = Fastest("round_trip", polls=True), Fastest("round_trip", polls=False)
ROUND_TRIP = (
    at_most(1 / 8, "round trip p50: the fastest that polls", "p50_us", TRIP, POLLING),
    at_most(1 / 3, "round trip p50: iceoryx2's polling", "p50_us", TRIP, ("round_trip", "iceoryx2")),
    at_most(3, "round trip p50: the C core", "p50_us", TRIP, ("round_trip", "c-core")),
    at_most(2, "round trip p99, processors near", "p99_us", TRIP, unit=" µs", placement="near"),
    at_most(1.25, "round trip asleep: the bare futex", "p50_us", ASLEEP, ("round_trip", "c-futex")),
    at_most(1, "round trip asleep: the fastest that sleeps", "p50_us", ASLEEP, SLEEPING),
    at_most(1, "round trip asleep: a Unix socket", "p50_us", ASLEEP, ("round_trip", "unix-socket")),
)
INTO, CORE = ("throughput", f"slipring-into size={MIB}"), ("throughput", f"c-core size={MIB}")
# iceoryx2's receiver polls, so ours does too.
FRAMES = ("slipring-frames-polled", "iceoryx2-frames", "iceoryx2-frames-kept")
FILLED, REUSED, KEPT = (("filled_frames", f"{name} size={8 * MIB}") for name in FRAMES)
LARGE = (
    at_least(0.8, "1 MiB into a buffer: the C core", RATE, INTO, CORE),
    at_least(2e6, "1 MiB in place", RATE, in_place(MIB), unit="/s"),
    at_least(1 / FLAT, "1 MiB in place: 64 B in place", RATE, in_place(MIB), in_place(64)),
    at_least(1, "frames of 8 MiB, one fill: iceoryx2", "frames_per_s", FILLED, REUSED),
    at_least(1, "the same: iceoryx2 that keeps the newest too", "frames_per_s", FILLED, KEPT),
)
EIGHT, ALONE = ("writers", "slipring writers=8"), ("writers", "slipring writers=1")
FOUR = [fanout(name, 4) for name in ("slipring", "zmq-pub-sub")]
FOUR_BY_LISTS = [fanout(name, 4) for name in ("slipring-lists", "zmq-pub-sub")]
SIXTEEN = [fanout("slipring-lossy", count) for count in (16, 1)]
NONE = subscribers("idle", 0)
MANY_ENDS = (
    at_least(0.5, "8 writers: one writer", RATE, EIGHT, ALONE),
    at_least(0.5, "8 writers: the slowest one's share", "slowest_share", EIGHT, unit=""),
    at_least(7, "fan-out to 4, recv: pyzmq PUB/SUB", "deliveries_per_s", *FOUR),
    at_least(7, "fan-out to 4, recv_many: pyzmq PUB/SUB", "deliveries_per_s", *FOUR_BY_LISTS),
    at_most(1.2, "CPU of a send to 16 readers: to one", "cpu_ns_per_send", *SIXTEEN),
    at_most(FLAT, "send to 64 idle subscribers: to none", "ns_per_send", subscribers("idle", 64), NONE),
    at_most(FLAT, "send to 64 slow subscribers: to none", "ns_per_send", subscribers("slow", 64), NONE),
)
FOLLOWING, BACKLOG = (
    [ring(mode, size) for size in (256 * MIB, MIB // 16)] for mode in ("following", "backlog")
)
OTHERS = (
    at_most(1 / 10, "a call p50: pyzmq REQ/REP", "p50_us", CALL, ("calls", "pyzmq-req-rep")),
    at_most(1 / 5, "a call p50: gRPC on a Unix socket", "p50_us", CALL, ("calls", "grpc")),
    at_most(FLAT, "recv behind the writer, 256 MiB: 64 KiB", "ns_per_recv", *FOLLOWING),
    at_most(FLAT, "recv from a full ring, 256 MiB: 64 KiB", "ns_per_recv", *BACKLOG),
)


def typed(transport: str, message: str, processes: int) -> tuple[str, str]:
    return ("typed", f"{transport} message={message} processes={processes}")


TYPED = (
    at_least(15e6, "columns of 8 doubles", RATE, typed("slipring-columns", "doubles", 2), unit="/s"),
    *(
        at_most(
            1.3,
            f"send and recv of a {said}: msgspec by hand",
            "ns_per_message",
            typed("slipring-values", said, 1),
            typed("slipring-by-hand", said, 1),
        )
        for said in ("dataclass", "struct")
    ),
)
WAYS = {"recv": "recv", "wait-100": "wait on 100 topics", "asyncio": "asyncio"}
IDLE = tuple(
    at_most(limit, f"idle in {said}: {what}", figure, ("idle", f"slipring way={way}"), unit=unit)
    for way, said in WAYS.items()
    for limit, what, figure, unit in (
        (0.05, "CPU", "cpu_percent", " %"),
        (0, "wake-ups that do not become rarer", "wakeups_added", ""),
    )
)
TARGETS = (*ONE_AT_A_TIME, *MANY_AT_A_TIME, *ROUND_TRIP, *LARGE, *MANY_ENDS, *OTHERS, *TYPED, *IDLE)

# a way through Spark, and beside what: Spark's own files, or the least that a Python source can do
SPARK_WAYS = (  # from a topic, against, in words
    ("value to nothing", "value to nothing: Parquet", "its own files"),
    ("six columns to Parquet", "six columns to Parquet: Parquet", "its own files"),
    ("value to nothing", "value to nothing: Arrow IPC", "Arrow IPC files"),
    ("fields to nothing", "value to nothing: topic", "the values alone"),
)
SPARK_SHARE = 0.7


def judge(samples: Samples, spark: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The verdict on each target, as it is kept; ``spark`` is what benchmarks.spark kept."""
    return [target.verdict(samples) for target in TARGETS] + judge_spark(spark)


def judge_spark(spark: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Rows a second from a topic, against those from files or without fields, for each size that was measured."""
    verdicts = []
    for way, other, said in SPARK_WAYS:
        wanted = {"wanted": f"≥ {SPARK_SHARE}x", "figure": "rows_per_s"}
        sizes = (spark or {}).get("rates", {})
        found = {size: rates for size, rates in sizes.items() if {f"{way}: topic", other} <= set(rates)}
        if not found:
            verdicts.append({"target": f"Spark, {way}: {said}", **wanted, "verdict": "not measured"})
        for size, rates in found.items():
            share = _spark_share(size, other.split(": ")[1], rates[f"{way}: topic"], rates[other])
            verdicts.append({"target": f"Spark, {way}, {size} B: {said}", **wanted, **share})
    return verdicts


def _spark_share(size: str, end: str, ours: list[float], theirs: list[float]) -> dict[str, Any]:
    rounds = [a / b for a, b in zip(ours, theirs, strict=True)]
    value = median(ours) / median(theirs)
    found = {"ours": f"topic size={size}", "against": f"{end} size={size}", "value": value, "unit": "x"}
    spread = {"low": min(rounds), "high": max(rounds), "placement": "any"}
    return {**found, **spread, "verdict": "met" if value >= SPARK_SHARE else "MISSED"}


def asked(verdicts: list[dict[str, Any]], only: Sequence[str]) -> list[dict[str, Any]]:
    """Those on the questions that --only chose; all of them if it chose none."""
    chosen = {target.promise for target in TARGETS if target.ours[0] in only}
    return [each for each in verdicts if not only or each["target"] in chosen]


def kept_spark(folder: Path | None) -> dict[str, Any] | None:
    """What ``python -m benchmarks.spark`` left there, if anything."""
    kept = folder / "spark.json" if folder else None
    if kept is None or not kept.exists():
        return None
    found: dict[str, Any] = json.loads(kept.read_text())
    return found
