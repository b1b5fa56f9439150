# SPDX-License-Identifier: Apache-2.0
"""Evidence of a very small run in which everything went well, made by hand: the audit passes it.

imu       0 1 2 3 by imu-left 2, which is killed while sending 4 (abandoned); 5 to 9 by its successor
commands  0 1 2 3; actuator 7 is killed between handling 1 and committing it: its successor handles 1 again
chat      0 1 2 3 by ann and bob in turn
lidar     0 and 2; 1 is a loan aborted on purpose
"""

from typing import Any

import numpy
from demo.evidence import Evidence, TopicEnd
from demo.robot import TOPIC_NAMES

from storm.audit import Life
from storm.bodies import identity
from storm.journal import RECORD, Kind
from storm.strikes import Strike

MS = 1_000_000
IMU = {seq: identity(2, seq + 1) for seq in range(4)} | {seq: identity(3, seq - 4) for seq in range(5, 10)}
COMMANDS = {seq: identity(6, seq + 1) for seq in range(4)}
CHAT = {0: identity(9, 1), 1: identity(10, 1), 2: identity(9, 2), 3: identity(10, 2)}
FRAMES = {seq: identity(14, seq + 1) for seq in range(3)}
CLOUDS = {0: identity(11, 1), 2: identity(11, 3)}


def record(kind: Kind, topic: str, ms: int, *values: int) -> tuple:
    return (int(kind), TOPIC_NAMES.index(topic), b"", ms * MS, *values, *[0] * (4 - len(values)))


def reading(
    topic: str,
    identities: dict[int, int],
    seqs: list[int],
    tail: int,
    *,
    start=0,
    lost=0,
    filtered=0,
    done=True,
) -> list[tuple]:
    """`seqs` of the topic, each received 1 ms after it was sent at seq x 10 ms; one account, at the tail."""
    rows = [record(Kind.STARTED, topic, 0, start)]
    rows += [record(Kind.RECEIVED, topic, s * 10 + 1, s, identities[s], s * 10 * MS) for s in seqs]
    rows.append(record(Kind.COUNTED, topic, 100, tail, len(seqs), lost, filtered))
    return rows + ([record(Kind.ENDED, topic, 100)] if done else [])


def sent(topic: str, identities: dict[int, int], *seqs: int) -> list[tuple]:
    return [record(Kind.SENT, topic, seq * 10, seq, identities[seq]) for seq in seqs]


def handled(*seqs: int) -> list[tuple]:
    return [record(Kind.HANDLED, "commands", seq * 10, seq) for seq in seqs]


def committed(*rows: tuple[int, int]) -> list[tuple]:
    return [record(Kind.COMMITTED, "commands", ms, position) for ms, position in rows]


def story(name: str, number: int, *records: tuple, ended_ms: int = 100, killed=False) -> Life:
    rows = numpy.array(list(records), dtype=RECORD)
    return Life(name, number, -9 if killed else 0, killed, rows, 0, ended_ms * MS)


def _recorder() -> Life:
    return story(
        "recorder",
        1,
        *reading("imu", IMU, list(IMU), 10),
        *reading("lidar", CLOUDS, [0, 2], 3),
        *reading("commands", COMMANDS, [0, 1, 2, 3], 4),
        *reading("chat", CHAT, [0, 1, 2, 3], 4),
        *reading("camera", FRAMES, [0, 1, 2], 3),
    )


def _actuators() -> list[Life]:
    first = [*reading("commands", COMMANDS, [0, 1], 2, done=False), *handled(0, 1), *committed((5, 1))]
    second = [*reading("commands", COMMANDS, [1, 2, 3], 4, start=1), *handled(1, 2, 3)]
    second += committed((26, 2), (27, 3), (31, 4))
    return [story("actuator", 7, *first, ended_ms=25, killed=True), story("actuator", 8, *second)]


def make() -> Evidence:
    aborted = record(Kind.ABORTED, "lidar", 10, 0, identity(11, 2))
    lives = [
        _recorder(),
        story("imu-left", 2, *sent("imu", IMU, 0, 1, 2, 3), ended_ms=45, killed=True),
        story("imu-left", 3, *sent("imu", IMU, 5, 6, 7, 8, 9)),
        story("balance", 4, *reading("imu", IMU, list(IMU), 10)),
        story("logger", 5, *reading("lidar", CLOUDS, [2], 3, lost=1)),
        story("commander", 6, *sent("commands", COMMANDS, 0, 1, 2, 3)),
        *_actuators(),
        story("ann", 9, *sent("chat", CHAT, 0, 2), *reading("chat", CHAT, [1, 3], 4, filtered=2)),
        story("bob", 10, *sent("chat", CHAT, 1, 3), *reading("chat", CHAT, [0, 2], 4, filtered=2)),
        story("lidar", 11, *sent("lidar", CLOUDS, 0, 2), aborted),
        story("viewer", 12, *reading("lidar", CLOUDS, [0, 2], 3)),
        story("camera", 14, *sent("camera", FRAMES, 0, 1, 2)),
        story("monitor", 13, *reading("imu", IMU, [9], 10, filtered=8)),
    ]
    strikes = [
        Strike("actuator", 7, "kill", 25 * MS, 25 * MS),
        Strike("imu-left", 2, "kill", 45 * MS, 45 * MS),
    ]
    ends = {
        "imu": TopicEnd(9, 1, 10, 900),
        "lidar": TopicEnd(2, 1, 3, 2 << 18),
        "commands": TopicEnd(4, 0, 4, 400),
        "chat": TopicEnd(4, 0, 4, 400),
        "camera": TopicEnd(3, 0, 3, 300),
    }
    return Evidence(lives, strikes, ends, began_ns=0, ended_ns=100 * MS)


def life(evidence: Evidence, number: int) -> Life:
    return next(life for life in evidence.lives if life.life == number)


def rows(evidence: Evidence, number: int, kind: Kind, topic: str) -> Any:
    """Where the journal of a life has its records of a kind."""
    records = life(evidence, number).records
    return numpy.flatnonzero((records["kind"] == kind) & (records["topic"] == TOPIC_NAMES.index(topic)))


def change(evidence: Evidence, number: int, kind: Kind, topic: str, which: int, **fields: int) -> None:
    """Other values in one record."""
    at = rows(evidence, number, kind, topic)[which]
    for name, value in fields.items():
        life(evidence, number).records[name][at] = value


def drop(evidence: Evidence, number: int, kind: Kind, topic: str, which: int) -> None:
    one = life(evidence, number)
    one.records = numpy.delete(one.records, rows(evidence, number, kind, topic)[which])


def insert(evidence: Evidence, number: int, new: tuple, at: int | None = None) -> None:
    """At the end of the journal unless told where."""
    one = life(evidence, number)
    place = len(one.records) if at is None else at
    one.records = numpy.insert(one.records, place, numpy.array([new], dtype=RECORD))
