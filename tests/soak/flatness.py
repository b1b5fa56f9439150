# SPDX-License-Identifier: Apache-2.0
"""Make claims that memory, descriptors, entries and files do not grow.

A series is flat if the median of its last quarter exceeds that of its second quarter by at most a limit. The first
quarter is ignored: processes warm up in it. Single large messages do not change a median. In a soak of two hours the
two quarters are an hour apart, so 8 MiB are about 20 bytes a message.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from storm.audit import Claim, judge

# The larger of the two limits: one more buffer of the largest message is not growth.
OWN_KIB, OWN_SHARE = 8192, 0.05
DESCRIPTORS = 1
ENTRIES = 1
RECORDING_DESCRIPTORS = 64  # of driver, JVM and workers together
FEWEST_SAMPLES = 12
Samples = list[dict[str, Any]]
_OF_PROCESSES = ("supervisor", "fork_server")


@dataclass(frozen=True)
class Growth:
    name: str
    second: float
    last: float
    limit: float

    @property
    def flat(self) -> bool:
        return self.last - self.second <= self.limit

    def __str__(self) -> str:
        return f"{self.name} from {self.second:,.0f} to {self.last:,.0f} (limit +{self.limit:,.0f})"


def growth(
    name: str, samples: Samples, value: Callable[[dict[str, Any]], float], limit: float, share: float = 0.0
) -> Growth:
    end = samples[-1]["s"]
    second = median(value(s) for s in samples if 0.25 * end <= s["s"] < 0.5 * end)
    last = median(value(s) for s in samples if s["s"] >= 0.75 * end)
    return Growth(name, second, last, max(limit, share * second))


def of_processes(samples: Samples, what: str, limit: float, share: float = 0.0) -> list[Growth]:
    names = list(samples[-1]["processes"])
    found = [
        growth(name, samples, lambda s, name=name: s["processes"][name][what], limit, share) for name in names
    ]
    return found + [
        growth(name, samples, lambda s, name=name: s[name][what], limit, share) for name in _OF_PROCESSES
    ]


def _claim(title: str, found: list[Growth]) -> Claim:
    most = max(found, key=lambda one: one.last - one.second)
    return judge(title, [str(one) for one in found if not one.flat], f"most: {most}")


def examine(samples: Samples, most_entries: int) -> list[Claim]:
    if len(samples) < FEWEST_SAMPLES:
        return [
            Claim(
                "Long enough to judge what grows", False, f"{len(samples)} samples, {FEWEST_SAMPLES} needed"
            )
        ]
    kinds = ("publishers", "readers", "cursors")
    entries = [growth(kind, samples, lambda s, kind=kind: s["entries"][kind], ENTRIES) for kind in kinds]
    files = [growth(what, samples, lambda s, what=what: s["root"][what], 0) for what in ("files", "bytes")]
    peak = max(sum(sample["entries"].values()) for sample in samples)
    claims = [
        _claim(
            "Memory of survivors and supervisor is flat (KiB)",
            of_processes(samples, "own_kib", OWN_KIB, OWN_SHARE),
        ),
        _claim("Descriptors are flat", of_processes(samples, "descriptors", DESCRIPTORS)),
        _claim("Table entries are flat", entries),
        judge(
            "Table entries never exceed live and just killed processes",
            [f"{peak} entries"] if peak > most_entries else [],
            f"at most {peak} of {most_entries}",
        ),
        _claim("Files in the bus root are flat", files),
    ]
    if "recording" in samples[-1]:
        of_spark = growth("Spark", samples, lambda s: s["recording"]["descriptors"], RECORDING_DESCRIPTORS)
        claims.append(_claim("Descriptors of the recording are flat", [of_spark]))
    return claims
