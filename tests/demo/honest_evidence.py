# SPDX-License-Identifier: Apache-2.0
"""Evidence of a very small show in which everything went well, made by hand: the audit passes it.

imu       0 1 2 3 by imu-left 2, which is killed while sending 4 (abandoned); 5 to 9 by its successor
commands  0 1 2 3; actuator 7 is killed between handling 1 and committing it: its successor handles 1 again
chat      0 1 2 3 by ann and bob in turn
lidar     0 and 2; 1 is a loan given up on purpose
"""

from array import array

from demo.bodies import identity
from demo.chaos import Strike
from demo.evidence import Count, Evidence, Reading, Story, TopicEnd

MS = 1_000_000
IMU = {seq: identity(2, seq + 1) for seq in range(4)} | {seq: identity(3, seq - 4) for seq in range(5, 10)}
COMMANDS = {seq: identity(6, seq + 1) for seq in range(4)}
CHAT = {0: identity(9, 1), 1: identity(10, 1), 2: identity(9, 2), 3: identity(10, 2)}
FRAMES = {0: 14 << 32 | 1, 1: 14 << 32 | 2, 2: 14 << 32 | 3}
CLOUDS = {0: identity(11, 1), 2: identity(11, 3)}


def reading(
    topic: dict[int, int], seqs: list[int], tail: int, *, start=0, lost=0, filtered=0, done=True
) -> Reading:
    """`seqs` of the topic, each received 1 ms after it was sent at seq x 10 ms; one account, at the tail."""
    result = Reading(Count(0, 0, start, 0, 0, 0))
    for seq in seqs:
        result.seqs.append(seq)
        result.identities.append(topic[seq])
        result.sent_ns.append(seq * 10 * MS)
        result.got_ns.append((seq * 10 + 1) * MS)
    result.counts.append(Count(100 * MS, len(seqs), tail, len(seqs), lost, filtered))
    result.done = done
    return result


def story(seat: str, incarnation: int, *, ended_ms: int = 100, killed=False, **told) -> Story:
    exit_code = -9 if killed else 0
    return Story(seat, incarnation, 0, ended_ms * MS, exit_code, killed, **told)


def sent(topic: dict[int, int], *seqs: int) -> list[tuple[int, int, int]]:
    return [(seq * 10 * MS, seq, topic[seq]) for seq in seqs]


def handled(*seqs: int) -> list[tuple[int, int]]:
    return [(seq * 10 * MS, seq) for seq in seqs]


def _recorder() -> Story:
    readings = {
        "imu": reading(IMU, list(IMU), 10),
        "lidar": reading(CLOUDS, [0, 2], 3),
        "commands": reading(COMMANDS, [0, 1, 2, 3], 4),
        "chat": reading(CHAT, [0, 1, 2, 3], 4),
        "camera": reading(FRAMES, [0, 1, 2], 3),
    }
    return story("recorder", 1, readings=readings)


def _actuators() -> list[Story]:
    first = {"commands": reading(COMMANDS, [0, 1], 2, done=False)}
    second = {"commands": reading(COMMANDS, [1, 2, 3], 4, start=1)}
    killed = story("actuator", 7, ended_ms=25, killed=True, readings=first, handled=handled(0, 1))
    killed.committed = [(5 * MS, 1)]
    successor = story("actuator", 8, readings=second, handled=handled(1, 2, 3))
    successor.committed = [(26 * MS, 2), (27 * MS, 3), (31 * MS, 4)]
    return [killed, successor]


def make() -> Evidence:
    stories = [
        _recorder(),
        story("imu-left", 2, ended_ms=45, killed=True, sent={"imu": sent(IMU, 0, 1, 2, 3)}),
        story("imu-left", 3, sent={"imu": sent(IMU, 5, 6, 7, 8, 9)}),
        story("balance", 4, readings={"imu": reading(IMU, list(IMU), 10)}),
        story("logger", 5, readings={"lidar": reading(CLOUDS, [2], 3, lost=1)}),
        story("commander", 6, sent={"commands": sent(COMMANDS, 0, 1, 2, 3)}),
        *_actuators(),
        story(
            "ann", 9, sent={"chat": sent(CHAT, 0, 2)}, readings={"chat": reading(CHAT, [1, 3], 4, filtered=2)}
        ),
        story(
            "bob",
            10,
            sent={"chat": sent(CHAT, 1, 3)},
            readings={"chat": reading(CHAT, [0, 2], 4, filtered=2)},
        ),
        story("lidar", 11, sent={"lidar": sent(CLOUDS, 0, 2)}, aborted=1),
        story("viewer", 12, readings={"lidar": reading(CLOUDS, [0, 2], 3)}),
        story("camera", 14, sent={"camera": sent(FRAMES, 0, 1, 2)}),
        story("monitor", 13, readings={"imu": reading(IMU, [9], 10, filtered=8)}),
    ]
    strikes = [
        Strike("actuator", 7, "kill", 25 * MS, 25 * MS),
        Strike("imu-left", 2, "kill", 45 * MS, 45 * MS),
    ]
    topics = {
        "imu": TopicEnd(9, 1, 10, 900),
        "lidar": TopicEnd(2, 1, 3, 2 << 18),
        "commands": TopicEnd(4, 0, 4, 400),
        "chat": TopicEnd(4, 0, 4, 400),
        "camera": TopicEnd(3, 0, 3, 300),
    }
    return Evidence(stories, strikes, topics, began_ns=0, ended_ns=100 * MS)


def life(evidence: Evidence, incarnation: int) -> Story:
    return next(story for story in evidence.stories if story.incarnation == incarnation)


def drop(values: "array[int]", index: int) -> None:
    del values[index]
