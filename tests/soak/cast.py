# SPDX-License-Identifier: Apache-2.0
"""Two topics, four publishers, eight subscribers, four of the twelve in C. Half of them live through the whole soak:
what grows shows in them.

The lossy ring has `slots` messages; the napping reader sleeps longer than they last, so that it loses some and has
to say how many. The reliable ring holds minutes, so that a Spark that stands still does not stop its publishers.
"""

from dataclasses import dataclass, field
from typing import Any

BUS = "soak"
LARGEST_BYTES = 4 << 20
PERIOD_S = 0.03  # of a publisher
MESSAGES_S = 120  # of a topic, about: some sends are batches
LOSSY, RELIABLE = 0, 1
CONFLATING = "lossy-newest"  # the seat of the reader that does
TOPICS = ("lossy", "reliable")
CURSOR = "reading"


@dataclass(frozen=True)
class Seat:
    name: str
    role: str  # module:function
    topic: int
    mortal: bool
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def publishes(self) -> bool:
        return self.role == "soak.publishers:publish" or self.config.get("how") == "publish"

    @property
    def has_a_pulse(self) -> bool:
        """It lives through everything and never rests of its own will: its gaps are felt ones."""
        return not self.mortal and "nap_s" not in self.config


def settings(slots: int) -> dict[str, dict[str, Any]]:
    return {
        "lossy": {"capacity": "32MiB", "slots": slots, "delivery": "lossy"},
        "reliable": {"capacity": "64MiB", "slots": 16384, "delivery": "reliable"},
    }


def _publisher(name: str, topic: int, mortal: bool, ways: list[str]) -> Seat:
    return Seat(name, "soak.publishers:publish", topic, mortal, {"ways": ways})


def _reader(name: str, topic: int, mortal: bool, take: str, **config: Any) -> Seat:
    return Seat(name, "soak.readers:read", topic, mortal, {"take": take, **config})


def _in_c(name: str, topic: int, mortal: bool, how: str) -> Seat:
    return Seat(name, "soak.native:play", topic, mortal, {"how": how})


def seats(slots: int) -> list[Seat]:
    oldest = {"start": "oldest"}
    return [
        _reader("lossy-into", LOSSY, False, "recv_into", settings=oldest),
        _reader(CONFLATING, LOSSY, True, "recv", settings={**oldest, "conflate": True}),
        _reader("lossy-napping", LOSSY, False, "recv_many", settings={}, nap_s=1.5 * slots / MESSAGES_S),
        _in_c("lossy-copy-c", LOSSY, True, "copies"),
        _reader("reliable-batch", RELIABLE, False, "recv_batch", settings=oldest),
        _in_c("reliable-held-c", RELIABLE, False, "held"),
        _reader("reliable-cursor", RELIABLE, True, "recv", settings={**oldest, "cursor": CURSOR}),
        _reader("reliable-held", RELIABLE, True, "view", settings={}),
        _publisher("lossy-steady", LOSSY, False, ["send", "send", "send_many", "loan"]),
        _in_c("lossy-mortal-c", LOSSY, True, "publish"),
        _in_c("reliable-steady-c", RELIABLE, False, "publish"),
        _publisher("reliable-mortal", RELIABLE, True, ["send", "send_many", "loan"]),
    ]
