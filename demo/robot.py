# SPDX-License-Identifier: Apache-2.0
"""The robot: five topics and fourteen components. One process after another runs each component.

The rings of imu and camera hold what is published while Spark is killed and restarted. The ring of lidar holds two
seconds, so that a slow reader and Spark lose messages, and have to report how many.

Every component is killed except the recorder, which reads all topics from the first message to the last. `feeds` are
the components that send to a reader; one of them suffices. `period_s` is the time between two actions of an undisturbed
component. With both, the audit judges the pauses of other processes at a kill. One cloud in twelve is aborted on
purpose, so readers of clouds may receive none for two periods.
"""

from dataclasses import dataclass, field
from typing import Any

from storm.strikes import Plan
from storm.supervisor import Role

BUS = "robot"
CLOUD_BYTES = 256 << 10
CLOUD_RING_BYTES = 16 << 20
CLOUD_S = 1 / 30
CURSOR = "actuator"
STRIKES = Plan(
    every_s=(0.2, 0.4), pause_share=0.2, pause_s=(0.05, 0.5), dies_paused_share=0.3, vacant_s=(0.0, 0.05)
)


@dataclass(frozen=True)
class Topic:
    name: str
    settings: dict[str, Any]
    story: str


@dataclass(frozen=True)
class Component:
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

    def supervised(self) -> Role:
        return Role(self.name, f"demo.roles.{self.role}:run", self.topics[0], mortal=self.mortal)


TOPICS = {
    topic.name: topic
    for topic in (
        Topic("imu", {"capacity": "32MiB", "slots": 262144, "delivery": "lossy"}, "lossy, two writers"),
        Topic(
            "lidar",
            {"capacity": CLOUD_RING_BYTES, "slots": 1024, "writers": "one"},
            "lossy, one writer, loans",
        ),
        Topic("camera", {"capacity": "1MiB", "slots": 4096}, "lossy, metadata of frames"),
        Topic("commands", {"capacity": "16MiB", "slots": 65536, "delivery": "reliable"}, "reliable, cursor"),
        Topic(
            "chat", {"capacity": "16MiB", "slots": 65536, "delivery": "reliable"}, "reliable, three members"
        ),
    )
}
TOPIC_NAMES = tuple(TOPICS)

_IMUS = ("imu-left", "imu-right")
_MEMBERS = ("ann", "bob", "cyd")

COMPONENTS = {
    component.name: component
    for component in (
        Component("recorder", "recorder", TOPIC_NAMES, "reads every message", 0.0005, _IMUS, mortal=False),
        Component("imu-left", "imu", ("imu",), "publishes at 1 kHz", 0.001),
        Component("imu-right", "imu", ("imu",), "publishes at 1 kHz", 0.001),
        Component("balance", "reader", ("imu",), "fast reader of imu", 0.0005, _IMUS),
        Component(
            "logger", "reader", ("lidar",), "slow reader of clouds", 0.1, ("lidar",), options={"nap_s": 0.1}
        ),
        Component("lidar", "lidar", ("lidar",), "clouds by loan, 30 Hz", 2 * CLOUD_S),
        Component("viewer", "viewer", ("lidar",), "views clouds in place", 2 * CLOUD_S, ("lidar",)),
        Component("camera", "camera", ("camera",), "frame metadata, 30 Hz", CLOUD_S),
        Component("commander", "commander", ("commands",), "commands at 100 Hz", 0.01),
        Component("actuator", "actuator", ("commands",), "handles commands, cursor", 0.01, ("commander",)),
        *(Component(name, "member", ("chat",), "member of the chat", 0.02) for name in _MEMBERS),
        Component("monitor", "monitor", TOPIC_NAMES, "newest of every topic", 0.05),
    )
}

PRELOAD = sorted({f"demo.roles.{component.role}" for component in COMPONENTS.values()})
