# SPDX-License-Identifier: Apache-2.0
"""Compares the counters of the bus with the contents of the lake."""

from dataclasses import dataclass
from typing import Any

from storm.audit import Claim


@dataclass(frozen=True)
class Line:
    """One topic. published and tail are counters of the bus; the others are counted in the files of the lake."""

    topic: str
    published: int
    tail: int
    first: int
    end: int
    recorded: int
    lost: int
    abandoned: int

    @property
    def adds_up(self) -> bool:
        return (
            self.published == self.recorded + self.lost
            and self.first == 0
            and self.end == self.tail == self.recorded + self.lost + self.abandoned
        )


def lines(stats: dict[str, dict[str, Any]], held: list[dict[str, Any]]) -> list[Line]:
    """stats: final counters of each topic. held: first, end, messages, lost and abandoned of each topic in the lake."""
    by_topic = {row["topic"]: row for row in held}
    found = []
    for topic, stat in sorted(stats.items()):
        row = by_topic.get(topic, {"first": 0, "end": 0, "messages": 0, "lost": 0, "abandoned": 0})
        counts = (row["first"], row["end"], row["messages"], row["lost"], row["abandoned"])
        found.append(Line(topic, stat["published"], stat["tail"], *counts))
    return found


def claims(found: list[Line], proof: dict[str, Any], kills: int, restarts: int = 0) -> list[Claim]:
    wrong = [line for line in found if not line.adds_up]
    total = sum(line.recorded for line in found)
    gaps = sum(line.lost for line in found)
    added = (
        f"{sum(line.published for line in found):,} published = {total:,} recorded + {gaps:,} in counted gaps"
    )
    return [
        Claim(
            "Published = recorded + counted gaps, on every topic",
            bool(found) and not wrong,
            "; ".join(str(line) for line in wrong) or added,
        ),
        Claim(
            "Spark was killed, and no row is missing or duplicated",
            kills > 0 and proof["complete"],
            "; ".join(proof["problems"])
            or f"{kills} SIGKILL of driver, JVM and workers, {restarts} other restarts; {proof['rows']:,} rows checked",
        ),
        Claim(
            "A replay publishes what was recorded",
            proof["replayed"] == proof["to_replay"] and proof["equal"],
            f"{proof['replayed']:,} of {proof['to_replay']:,} messages; "
            + ("on reliable topics compared one by one" if proof["equal"] else "contents differ"),
        ),
    ]
