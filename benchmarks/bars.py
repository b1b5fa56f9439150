# SPDX-License-Identifier: Apache-2.0
"""The bars Slipring sets itself, each a ratio between two cases of the same run: never an absolute time."""

from dataclasses import dataclass
from typing import Literal

from benchmarks.summary import Ratio, ratio

# A cost counts as flat while 64 subscribers, or a ring 4096 times larger, add no more than this factor.
FLAT = 1.25


@dataclass(frozen=True)
class Bar:
    promise: str
    figure: str
    ours: tuple[str, str]
    other: tuple[str, str]
    limit: float
    wanted: Literal["at least", "at most"]

    def measured(self, samples: list[dict]) -> Ratio | None:
        return ratio(samples, self.figure, self.ours, self.other)

    def met(self, found: Ratio) -> bool:
        return found.value >= self.limit if self.wanted == "at least" else found.value <= self.limit

    @property
    def limit_text(self) -> str:
        return f"{'≥' if self.wanted == 'at least' else '≤'} {self.limit:.3g}x"


def crowd(mood: str, count: int) -> tuple[str, str]:
    return ("publisher_cost", f"slipring-lossy mood={mood} crowd={count}")


def ring(mode: str, capacity: int) -> tuple[str, str]:
    return ("ring_size", f"slipring-lossy mode={mode} capacity={capacity}")


SMALL, LARGE = 64 << 10, 256 << 20
ONE_AT_A_TIME = ("throughput", "slipring size=64")
RATE = "messages_per_s"

BARS = (
    Bar(
        "64 B one at a time, against pyzmq as it comes",
        RATE,
        ONE_AT_A_TIME,
        ("throughput", "pyzmq-default size=64"),
        10,
        "at least",
    ),
    Bar(
        "64 B one at a time, against pyzmq with a deep queue",
        RATE,
        ONE_AT_A_TIME,
        ("throughput", "pyzmq size=64"),
        10,
        "at least",
    ),
    Bar(
        "64 B one at a time, against iceoryx2",
        RATE,
        ONE_AT_A_TIME,
        ("throughput", "iceoryx2 size=64"),
        20,
        "at least",
    ),
    Bar(
        "64 B send_many/recv_batch, against pyzmq as it comes",
        RATE,
        ("batches", "slipring-arrow size=64"),
        ("batches", "pyzmq-default size=64"),
        40,
        "at least",
    ),
    Bar(
        "64 B send_many/recv_batch, against pyzmq with a deep queue",
        RATE,
        ("batches", "slipring-arrow size=64"),
        ("batches", "pyzmq size=64"),
        40,
        "at least",
    ),
    Bar(
        "round trip p50, hybrid wait, against iceoryx2 busy poll",
        "p50_us",
        ("round_trip", "slipring"),
        ("round_trip", "iceoryx2"),
        1 / 3,
        "at most",
    ),
    Bar(
        "round trip p50, asleep, against a Unix socket",
        "p50_us",
        ("round_trip", "slipring-sleeping"),
        ("round_trip", "unix-socket"),
        1.0,
        "at most",
    ),
    Bar(
        "a small call p50, against pyzmq REQ/REP",
        "p50_us",
        ("calls", "slipring-calls"),
        ("calls", "pyzmq-req-rep"),
        1 / 5,
        "at most",
    ),
    Bar(
        "a small call p50, against gRPC on a Unix socket",
        "p50_us",
        ("calls", "slipring-calls"),
        ("calls", "grpc"),
        1 / 5,
        "at most",
    ),
    Bar(
        "send with 64 idle subscribers, against none",
        "ns_per_send",
        crowd("idle", 64),
        crowd("idle", 0),
        FLAT,
        "at most",
    ),
    Bar(
        "send with 64 slow subscribers, against none",
        "ns_per_send",
        crowd("slow", 64),
        crowd("idle", 0),
        FLAT,
        "at most",
    ),
    Bar(
        "recv behind the writer, 256 MiB ring against 64 KiB",
        "ns_per_recv",
        ring("following", LARGE),
        ring("following", SMALL),
        FLAT,
        "at most",
    ),
    Bar(
        "recv from a full ring, 256 MiB against 64 KiB",
        "ns_per_recv",
        ring("backlog", LARGE),
        ring("backlog", SMALL),
        FLAT,
        "at most",
    ),
)
