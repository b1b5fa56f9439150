# SPDX-License-Identifier: Apache-2.0
"""The cast: five topics, and fourteen seats that are played by one process after another.

The rings of imu and camera hold what is published while Spark is killed and starts again; that of the clouds holds two
seconds, so that a reader who is too slow, and Spark, lose some and have to say how many.

Chaos strikes every seat but the recorder, which is the proof's witness: it reads all topics from the first
message to the last. `feeds` are the seats a reader lives from (one of them suffices), `period_s` is how
often a seat shows a sign of life when nothing disturbs it; both are used to judge how survivors fared at a
kill. (A cloud in twelve is given up on purpose, so those who see clouds go without for two turns at times.)
"""

from dataclasses import dataclass, field
from typing import Any

BUS = "robot"
CLOUD_BYTES = 256 << 10
CLOUD_S = 1 / 30
CURSOR = "actuator"


@dataclass(frozen=True)
class Topic:
    name: str
    settings: dict[str, Any]
    story: str


@dataclass(frozen=True)
class Seat:
    name: str
    role: str
    topics: tuple[str, ...]
    story: str
    period_s: float
    feeds: tuple[str, ...] = ()
    mortal: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def conflates(self) -> bool:
        return self.role == "monitor"

    @property
    def only_publishes(self) -> bool:
        return self.role in ("imu", "lidar", "camera", "commander")


TOPICS = {
    topic.name: topic
    for topic in (
        Topic(
            "imu", {"capacity": "32MiB", "slots": 262144, "delivery": "lossy"}, "lossy, two writers, small"
        ),
        Topic("lidar", {"capacity": "16MiB", "slots": 1024, "writers": "one"}, "lossy, one writer, loans"),
        Topic("camera", {"capacity": "1MiB", "slots": 4096}, "lossy, what is said of frames"),
        Topic("commands", {"capacity": "16MiB", "slots": 65536, "delivery": "reliable"}, "reliable, cursor"),
        Topic(
            "chat", {"capacity": "16MiB", "slots": 65536, "delivery": "reliable"}, "reliable, three members"
        ),
    )
}
TOPIC_NAMES = tuple(TOPICS)

_IMUS = ("imu-left", "imu-right")
_MEMBERS = ("ann", "bob", "cyd")

SEATS = {
    seat.name: seat
    for seat in (
        Seat("recorder", "recorder", TOPIC_NAMES, "the witness: reads all", 0.0005, _IMUS, mortal=False),
        Seat("imu-left", "imu", ("imu",), "publishes at 1 kHz", 0.001),
        Seat("imu-right", "imu", ("imu",), "publishes at 1 kHz", 0.001),
        Seat("balance", "reader", ("imu",), "fast reader of imu", 0.0005, _IMUS),
        Seat(
            "logger", "reader", ("lidar",), "slow reader of clouds", 0.1, ("lidar",), options={"nap_s": 0.1}
        ),
        Seat("lidar", "lidar", ("lidar",), "clouds by loan, 30 Hz", 2 * CLOUD_S),
        Seat("viewer", "viewer", ("lidar",), "clouds by view", 2 * CLOUD_S, ("lidar",)),
        Seat("camera", "camera", ("camera",), "frames' metadata, 30 Hz", CLOUD_S),
        Seat("commander", "commander", ("commands",), "commands at 100 Hz", 0.01),
        Seat("actuator", "actuator", ("commands",), "handles them, by cursor", 0.01, ("commander",)),
        *(Seat(name, "member", ("chat",), "member of the chat", 0.02) for name in _MEMBERS),
        Seat("monitor", "monitor", TOPIC_NAMES, "newest of every topic", 0.05),
    )
}
