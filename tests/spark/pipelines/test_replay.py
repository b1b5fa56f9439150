# SPDX-License-Identifier: Apache-2.0
"""Replay publishes recorded messages in order, at any pace, between any positions, under any name."""

import os
import random
import signal
import threading
from itertools import pairwise

import pytest

import slipring
from slipring.pipelines.replay import order as replay_order
from slipring.pipelines.replay.replay import Replayed, replay_rows
from spark.pipelines.lake_rows import BEGAN_NS, frame, hole, message
from support.waiting import eventually

MS = 1_000_000


def read(bus, topic, **options):
    with bus.subscriber(topic, start="oldest", lossy=True, **options) as sub:
        return [(m.time_ns - BEGAN_NS, m.sender, m.type, m.body) for m in sub.recv_many(1 << 20)]


def published(rows, topic):
    return [(r[7] - BEGAN_NS, r[8], r[9], bytes(r[10])) for r in rows if r[0] == topic and r[10] is not None]


def recording(count=300):
    """Three topics; the time stamps of "b" are not in the order of its sequences."""
    chance = random.Random(4)
    rows = [message("a", 100 + i, i * MS, b"a%d" % i, "gyro", "imu.v1") for i in range(count)]
    for i in range(count):
        swap = 3 * MS if chance.random() < 0.1 else 0
        rows.append(message("b", i, i * MS + 500 - swap, b"b%d" % i, f"w{i % 2}", ""))
    rows += [message("big", i, i * 30 * MS, os.urandom(200_000), "lidar", "cloud") for i in range(10)]
    rows.append(hole("a", 100 + count, 5, 5))
    return rows


def test_a_replay_read_again_equals_the_recording_row_by_row(spark, bus, monkeypatch):
    monkeypatch.setattr(replay_order, "PARTITION_BYTES", 300_000)  # several partitions, one after the other
    rows = recording()
    shuffled = random.Random(1).sample(rows, len(rows))
    settings = {
        "big": {"capacity": 4 << 20, "delivery": "reliable", "slots": 64, "writers": "one", "mode": 0o640}
    }
    done = replay_rows(frame(spark, shuffled), bus, settings=settings, speed="max")
    for topic in ("a", "b", "big"):
        assert read(bus, topic) == published(rows, topic)
    assert done.topics == {"a": 300, "b": 300, "big": 10}
    assert done.messages == done.of_messages == 610
    assert done.late_s == {}
    found = bus.stats("big")
    assert {key: found[key] for key in settings["big"]} == settings["big"]


def test_topics_keep_their_relative_order(spark, bus):
    rows = recording(120)
    replay_rows(frame(spark, rows), bus, topics=["a", "b"], speed=0.5, times="now")
    due_and_sent = []
    for topic in ("a", "b"):
        due, sent = 0, [at for at, *_ in read(bus, topic)]
        recorded = [at for at, *_ in published(rows, topic)]
        for stamp, at in zip(recorded, sent, strict=True):
            due = max(due, stamp)  # a message does not overtake those before it on its topic
            due_and_sent.append((due, at))
    assert len(due_and_sent) == 240
    order = [at for _, at in sorted(due_and_sent)]
    for before, after in pairwise(order):
        assert after >= before - MS / 10  # the clocks of two publishers differ by less than that


@pytest.mark.parametrize("speed", [1, 4])
def test_the_spacing_is_the_recorded_one_divided_by_the_speed(spark, bus, speed):
    rows = [message("slow", i, i * 100 * MS) for i in range(9)]
    told = []
    done = replay_rows(frame(spark, rows), bus, speed=speed, times="now", progress=told.append)
    stamps = [at for at, *_ in read(bus, "slow")]
    for number, stamp in enumerate(stamps):
        assert (
            stamp - stamps[0] >= number * 100 * MS / speed - MS / 10
        )  # never early: clocks differ by less than that
    assert done.elapsed_s >= 0.8 / speed
    assert set(done.late_s) == {"p50", "p90", "p99", "p99.9", "max"}
    assert 0 <= done.late_s["p50"] <= done.late_s["max"]
    assert told[-1].rows == 9 and told[-1].bytes == 9
    stages, told = [one.stage for one in told if one.stage], [one for one in told if not one.stage]
    assert set(stages) == {"reading the recording", "sorting"}
    assert told[0].eta_s > told[-1].eta_s == 0


def test_a_part_between_times_sequences_and_lengths(spark, bus):
    rows = recording(100)
    df = frame(spark, rows)

    def part(name, **options):
        replay_rows(df, bus, topics=["a"], rename={"a": name}, speed="max", **options)
        return [at // MS for at, *_ in read(bus, name)]

    assert part("times", start=BEGAN_NS + 10 * MS, end="+20ms") == list(range(10, 20))
    assert part("sequences", start="a@190", end={"a": 195}) == list(range(90, 95))
    assert part("both", start=["a@150", BEGAN_NS + 60 * MS], end="+62ms") == [60, 61]
    nothing = replay_rows(df, bus, topics=["a"], start="+1h")
    assert nothing.messages == 0
    assert "no message" in nothing.notes[0]


def test_a_re_created_topic_is_replayed_generation_after_generation(spark, bus):
    rows = [message("t", i, i * MS, b"old%d" % i, generation=9) for i in range(5)]
    rows += [message("t", i, (10 + i) * MS, b"new%d" % i, generation=-3) for i in range(5)]
    replay_rows(frame(spark, rows[::-1]), bus, speed="max")
    assert read(bus, "t") == published(rows, "t")
    with pytest.raises(slipring.BadArgument, match="2 generations") as caught:
        replay_rows(frame(spark, rows), bus, start="t@2")
    assert caught.value.argument == "start"


def test_a_full_reliable_topic_delays_the_replay_and_nothing_is_lost(spark, bus, background):
    rows = [message("r", i, i, b"%d" % i) for i in range(200)]
    settings = {"r": {"capacity": 4096, "slots": 16, "delivery": "reliable"}}
    bus.create("r", **settings["r"])
    slow = bus.subscriber("r", start="oldest")
    with pytest.raises(slipring.Full, match=r"'r' had no room for 0\.3 s") as caught:
        replay_rows(frame(spark, rows), bus, settings=settings, speed=1, timeout=0.3)
    assert caught.value.argument == "timeout"
    got = [m.body for m in slow.recv_many(100)]
    assert got == [b"%d" % i for i in range(len(got))] and 0 < len(got) < 20

    call = background(replay_rows, frame(spark, rows), bus, settings=settings, speed="max")
    eventually(lambda: slow.lag == 15, "the ring is full")
    bodies = []
    while len(bodies) < 200:
        bodies += [m.body for m in slow.recv_many(5, timeout=10)]
    done = call.result()
    slow.close()
    assert bodies == [b"%d" % i for i in range(200)]
    assert done.waited_s > 0
    assert any("already" in note for note in done.notes)


def test_a_replay_that_cannot_work_is_refused_with_the_reason(spark, bus):
    rows = [message("cam", 0, 0), message("imu", 0, 0), message("imu", 1, MS)]
    settings = {"cam": {"content": "frames"}, "imu": {"content": "messages", "capacity": 8192}}
    df = frame(spark, rows)
    done = replay_rows(df, bus, settings=settings, speed="max")
    assert done.topics == {"imu": 2}
    assert "cam" in done.notes[0] and "pixels" in done.notes[0]
    assert "cam" not in bus.topics()
    with pytest.raises(slipring.BadArgument, match="pixels"):
        replay_rows(df, bus, settings=settings, topics=["cam"])


def test_wrong_arguments_name_themselves_and_publish_nothing(spark, bus):
    df = frame(spark, [message("a", 0, 0), message("b", 0, 0)])
    wrong = [
        ({"speed": 0}, slipring.BadArgument, "speed"),
        ({"speed": "fast"}, slipring.BadArgument, "speed"),
        ({"topics": ["c*"]}, slipring.BadArgument, "topics"),
        ({"start": "yesterday"}, slipring.BadArgument, "start"),
        ({"end": "c@4"}, slipring.BadArgument, "end"),
        ({"end": ["a@4", "a@5"]}, slipring.BadArgument, "end"),
        ({"start": ["+1s", "+2s"]}, slipring.BadArgument, "start"),
        ({"rename": {"a": "b"}}, slipring.BadArgument, "rename"),
        ({"rename": {"c": "d"}}, slipring.BadArgument, "rename"),
        ({"rename": {"a": "../d"}}, slipring.BadArgument, "topic"),
        ({"times": "then"}, slipring.BadArgument, "times"),
        ({"timeout": -1}, slipring.BadArgument, "timeout"),
    ]
    for options, kind, argument in wrong:
        with pytest.raises(kind) as caught:
            replay_rows(df, bus, **options)
        assert caught.value.argument == argument, options
    bus.create("a", delivery="reliable")
    with pytest.raises(slipring.TopicExists, match=r"exists with delivery reliable.*another name"):
        replay_rows(df, bus, settings={"a": {"delivery": "lossy"}}, speed="max")
    assert bus.topics() == ["a"] and bus.stats("a")["published"] == 0


def test_an_existing_topic_of_another_capacity_takes_only_messages_that_fit(spark, bus):
    df = frame(spark, [message("a", 0, 0, value=b"x" * 4080, sender="s", type="t"), message("a", 1, 1)])
    bus.create("a", capacity=4096, slots=16)
    recorded = {"a": {"capacity": 8192, "slots": 64, "delivery": "lossy"}}
    assert replay_rows(df, bus, settings=recorded, speed="max").messages == 2
    assert bus.stats("a")["capacity"] == 4096 and bus.stats("a")["published"] == 2
    larger = frame(spark, [message("a", 0, 0), message("a", 1, 1, value=b"x" * 4089, sender="s")])
    with pytest.raises(slipring.TooLarge, match=r"capacity 4096, and the largest message of 'a' needs 4104"):
        replay_rows(larger, bus, settings=recorded, speed="max")
    assert bus.stats("a")["published"] == 2, "nothing of it was published"


def test_renamed_by_name_and_by_glob(spark, bus):
    df = frame(spark, [message("a", 0, 0), message("b.x", 0, 1), message("b.y", 0, 2), message("c", 0, 3)])
    replay_rows(df, bus, speed="max", exclude=["c"], rename=[("a", "z"), ("b.*", "again.*")])
    assert bus.topics() == ["again.b.x", "again.b.y", "z"]


def test_an_interrupt_ends_a_replay_and_reports_its_progress(spark, bus):
    rows = [message("t", i, i * 1_000 * MS) for i in range(3600)]
    outcome = Replayed()
    threads = threading.active_count()  # py4j keeps one for each earlier query with foreachBatch
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            replay_rows(
                frame(spark, rows),
                bus,
                outcome=outcome,
                progress=lambda now: now.rows and os.kill(os.getpid(), signal.SIGINT),
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcome.messages == 1 and outcome.of_messages == 3600
    assert threading.active_count() < threads + 50 and not any(
        t.name == "slipring-replay" for t in threading.enumerate()
    )
    assert bus.stats("t")["publishers"] == []
