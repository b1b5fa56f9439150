# SPDX-License-Identifier: Apache-2.0
"""record: every message is in the lake once, loss is counted, and the lake can be read, whatever the topics do."""

import json
import os
import subprocess
import threading
from contextlib import contextmanager

import pytest

import slipring
from slipring import pipelines
from slipring.pipelines import job_session
from slipring.pipelines.errors import IncompleteBatch
from slipring.pipelines.lake import Lake, LakeBusy, LakeFull
from slipring.pipelines.lake.locks import lock
from slipring.pipelines.lake.topics import topic_settings
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.record.batch import BatchWriter
from slipring.pipelines.record.begin import Subscription, checkpoint, description
from slipring.pipelines.record.finish import release
from support.waiting import eventually


class Recordings:
    """Record the test's bus in this process."""

    def __init__(self, spark, bus, path, background):
        self.spark, self.bus, self.path, self._background = spark, bus, path, background

    def record(self, topics, **options):
        options = {"until_idle_s": 0.5, "every_s": 0, "sync": False, **options}
        where = {"bus": self.bus.name, "root": self.bus.root, "spark": self.spark}
        return pipelines.record(topics, self.path, **where, **options)

    def start(self, topics, **options):
        """Record in the background; return (the call, stop) when it takes messages."""
        stop = threading.Event()
        call = self._background(self.record, topics, until_idle_s=None, stop=stop, **options)
        return call, stop

    def has(self, count):
        def recorded():
            if not (self.path / "_slipring.json").exists():
                return False
            sessions = Lake.open(self.path).state.sessions.values()
            return count <= sum(
                run.messages for one in sessions for runs in one.coverage.values() for run in runs
            )

        eventually(recorded, f"{count} recorded messages")

    def rows(self, topic):
        found = Lake.open(self.path).read(self.spark, topics=[topic])
        columns = ("generation", "offset", "span", "lost", "value", "sender", "type")
        return [tuple(row) for row in found.orderBy("generation", "offset").select(*columns).collect()]

    def values(self, topic):
        return [bytes(row[4]) for row in self.rows(topic) if row[4] is not None]

    def complete(self):
        verdict = verify(self.path)
        assert verdict.complete, verdict.problems
        return verdict


@pytest.fixture
def recordings(spark, bus, tmp_path, background):
    return Recordings(spark, bus, tmp_path / "lake", background)


def test_messages_of_several_topics_are_recorded_once_and_read_back(recordings, bus, spark):
    reliable = bus.publisher("commands", sender="ann", delivery="reliable")
    lossy = bus.publisher("imu", sender="gyro")
    for number in range(300):
        reliable.send(b"c%d" % number, type="go")
        lossy.send(b"i%d" % number, type="imu.v1" if number % 2 else "imu.v2")
    told = recordings.record(["commands", "imu"], pre_buffer=True)
    assert (told.messages, told.lost, told.ended) == (600, 0, True)
    generation = bus.stats("commands")["generation"]
    signed = generation - (1 << 64) if generation >> 63 else generation
    assert recordings.rows("commands") == [
        (signed, number, 1, 0, b"c%d" % number, "ann", "go") for number in range(300)
    ]
    assert recordings.values("imu") == [b"i%d" % number for number in range(300)]
    recordings.complete()
    assert bus.cursors("commands") == [], "an ended recording holds nothing back"
    known = topic_settings.load(Lake.open(recordings.path), "imu")
    assert known["types"] == ["imu.v1", "imu.v2"]
    (settings,) = known["generations"].values()
    assert settings["delivery"] == "lossy" and settings["capacity"] == 16 << 20
    times = [message.time_ns for message in bus.subscriber("imu", start="oldest").recv_many(300)]
    lake = Lake.open(recordings.path)
    part = lake.read(spark, topics=["imu"], since_ns=times[100], until_ns=times[200])
    assert sorted(row.offset for row in part.select("offset").collect()) == list(range(100, 200))


def test_a_recording_begins_now_or_as_many_seconds_ago_as_its_pre_buffer(recordings, bus):
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send(b"before")
    call, stop = recordings.start("t")
    eventually(lambda: bus.cursors("t"), "the recording's cursor")
    publisher.send(b"during")
    recordings.has(1)
    publisher.send(b"last")
    stop.set()
    assert call.result().messages == 2, "what was published before the end is recorded"
    assert recordings.values("t") == [b"during", b"last"]
    told = recordings.record("t", pre_buffer=3600.0)
    assert told.messages == 0, "what is in the lake already is not recorded again"
    other = Recordings(recordings.spark, bus, recordings.path.with_name("other"), None)
    assert other.record("t", pre_buffer=3600.0).messages == 3
    recordings.complete()


def test_a_recording_left_open_continues_without_a_gap_and_a_released_one_does_not(recordings, bus):
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send(b"0")
    first = recordings.record("t", pre_buffer=True, leave_open=True)
    (kept,) = bus.cursors("t")
    assert not first.ended and kept["lag"] <= 1
    for number in range(1, 5):
        publisher.send(b"%d" % number)
    again = recordings.record("t", leave_open=True)
    assert again.session == first.session and recordings.values("t") == [b"%d" % n for n in range(5)]
    publisher.send(b"5")
    assert release(recordings.path) == [first.session] and release(recordings.path) == []
    assert bus.cursors("t") == []
    publisher.send(b"6")
    assert recordings.record("t").session != first.session
    assert recordings.values("t") == [b"%d" % n for n in range(5)]
    recordings.complete()


def test_other_topics_than_those_of_the_open_recording_begin_a_new_one_that_follows_it(recordings, bus):
    a, b = (bus.publisher(topic, delivery="reliable") for topic in "ab")
    a.send(b"a0")
    recordings.record("a", pre_buffer=True, leave_open=True)
    a.send(b"a1")
    b.send(b"b0")
    told = recordings.record("a,b", pre_buffer=True)
    assert told.topics == {t: {"messages": 1, "lost": 0, "abandoned": 0} for t in "ab"}
    assert recordings.values("a") == [b"a0", b"a1"] and recordings.values("b") == [b"b0"]
    recordings.complete()
    assert bus.cursors("a") == [] and bus.cursors("b") == []


def test_loss_of_a_lossy_topic_is_recorded_as_counted_gaps(recordings, bus):
    publisher = bus.publisher("t", capacity=4096, slots=16)
    for number in range(10):
        publisher.send(b"%d" % number)
    recordings.record("t", pre_buffer=True, leave_open=True)
    for number in range(10, 1000):
        publisher.send(b"%d" % number)
    told = recordings.record("t")
    retained = bus.stats("t")["retained"]
    assert (told.messages, told.lost) == (10 + retained, 990 - retained)
    rows = recordings.rows("t")
    assert [(row[1], row[2], row[3]) for row in rows if row[4] is None] == [(10, told.lost, told.lost)]
    recordings.complete()


def test_abandoned_sequences_are_accounted_for_and_not_lost(recordings, bus):
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send(b"0")
    with pytest.raises(KeyError), publisher.loan(8):
        raise KeyError
    publisher.send(b"2")
    told = recordings.record("t", pre_buffer=True)
    assert (told.messages, told.lost, told.abandoned) == (2, 0, 1)
    recordings.complete()


def test_a_pattern_takes_later_topics_and_a_re_created_topic_is_another_generation(recordings, bus):
    bus.publisher("cam.left").send(b"l0")
    bus.publisher("other").send(b"x")
    call, stop = recordings.start("cam.*", pre_buffer=True)
    recordings.has(1)
    with bus.publisher("cam.right", delivery="reliable") as right:
        right.send(b"r0")
    recordings.has(2)
    bus.remove("cam.left")
    bus.publisher("cam.left").send(b"again")
    recordings.has(3)
    stop.set()
    assert set(call.result().topics) == {"cam.left", "cam.right"}
    verdict = recordings.complete()
    assert [(one.topic, one.messages) for one in verdict.generations] == [
        ("cam.left", 1),
        ("cam.left", 1),
        ("cam.right", 1),
    ]
    assert len(topic_settings.load(Lake.open(recordings.path), "cam.left")["generations"]) == 2


def test_a_damaged_checkpoint_is_replaced_and_no_message_is_recorded_twice(recordings, bus):
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send(b"0")
    first = recordings.record("t", pre_buffer=True, leave_open=True)
    publisher.send(b"1")
    offsets = recordings.path / "_checkpoint" / first.session / "offsets"
    newest = max((path for path in offsets.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    newest.write_bytes(b"")  # as after a power failure
    assert recordings.record("t").session != first.session
    assert recordings.values("t") == [b"0", b"1"]
    recordings.complete()


@pytest.mark.leaks_allowed("deltalake keeps an event loop of its own")
def test_a_delta_lake_is_a_lake_and_a_delta_table_with_the_same_rows(recordings, bus, spark):
    from deltalake import DeltaTable

    from slipring.pipelines.lake.compact import compact

    publisher = bus.publisher("t", delivery="reliable")
    sent = []
    for round_ in range(3):
        sent.append(b"%d" % round_)
        publisher.send(sent[-1])
        recordings.record("t", pre_buffer=True, table="delta", leave_open=round_ < 2)
    where = recordings.path / "messages"
    assert sorted(DeltaTable(where).to_pyarrow_table()["value"].to_pylist()) == sent
    lake = Lake.open(recordings.path)
    assert compact(lake, keep_s=0).merged == 3
    table = DeltaTable(where)
    assert len(table.file_uris()) == 1 and sorted(table.to_pyarrow_table()["value"].to_pylist()) == sent
    assert recordings.values("t") == sent
    recordings.complete()


def test_a_full_disk_is_named_and_the_recording_continues_when_there_is_room(recordings, bus, tmp_path):
    place = tmp_path / "mount"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "slipring-test", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"cannot mount a tmpfs ({done.stderr.strip()}): run the tests as root")
    try:
        recordings.path = place / "lake"
        publisher = bus.publisher("t", delivery="reliable")
        for _ in range(300):
            publisher.send(os.urandom(10_000))
        with pytest.raises(LakeFull, match=f"no space left for {recordings.path}"):
            recordings.record("t", pre_buffer=True)
        assert recordings.rows("t") == [], "nothing half-written is taken for a recording"
        subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
        assert recordings.record("t", pre_buffer=True).messages == 300
        recordings.complete()
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_job_that_cannot_work_is_refused_with_the_reason(recordings, bus, tmp_path):
    with pytest.raises(slipring.TopicNotFound, match="has no topic 'nowhere'"):
        recordings.record("nowhere")
    assert not recordings.path.exists(), "nothing is made for a recording that cannot begin"
    bus.publisher("t").send(b"x")
    recordings.record("t")
    with lock(Lake.open(recordings.path), "record"), pytest.raises(LakeBusy, match="records into the lake"):
        recordings.record("t")
    with pytest.raises(slipring.BadArgument, match="topics is empty"):
        recordings.record(" , ")
    with pytest.raises(slipring.BadArgument, match="for_s=0 must be above 0"):
        recordings.record("t", for_s=0)
    assert json.loads((recordings.path / "_slipring.json").read_text())["table"] == "parquet"


def test_a_recording_killed_while_spark_wrote_its_first_offsets_continues(recordings, bus, spark):
    """Also in a session of the user, where Spark refuses to begin in a non-empty checkpoint."""
    bus.publisher("imu", sender="gyro").send_many([b"0", b"1"])
    about = Subscription.of("imu")
    lake = Lake.create(recordings.path)
    session = lake.begin(description(about, bus))
    offsets = checkpoint(lake, session) / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.5f0c0f4e-half-written.tmp").write_text("v1")
    (offsets.parent / "metadata").write_text('{"id":"3c0d8a52-8b3e-4c0e-9d0e-0a51f9d8f6b1"}')
    with refusing(spark):
        told = recordings.record("imu", pre_buffer=True)
    assert (told.messages, told.ended, told.session) == (2, True, session)


def test_messages_lost_with_a_removed_topic_are_counted(recordings, bus):
    """By pattern, by name, and never seen by a batch: the unrecorded messages of a removed topic are lost."""
    kept = bus.publisher("t.kept", delivery="reliable")
    gone = bus.publisher("t.gone")
    gone.send_many([b"0", b"1"])
    call, stop = recordings.start("t.*", pre_buffer=True, every_s=3600)
    recordings.has(2)
    with bus.publisher("t.late", delivery="reliable") as late:
        late.send(b"x")
    eventually(lambda: "t.late" in tails_of(recordings), "the recorder to have seen t.late")
    gone.send_many([b"lost"] * 500)
    bus.remove("t.gone")
    bus.remove("t.late")
    kept.send(b"kept")
    stop.set()
    told = call.result()
    assert told.topics["t.gone"] == {"messages": 2, "lost": 500, "abandoned": 0}
    assert told.topics["t.late"] == {"messages": 0, "lost": 1, "abandoned": 0}
    assert (told.messages, told.lost, told.ended) == (3, 501, True)
    verdict = recordings.complete()
    assert sum(one.lost for one in verdict.generations) == 501
    found = pipelines.report(recordings.path, spark=recordings.spark)
    assert found.totals["lost"] == 501 and {row["topic"] for row in found.gaps} == {"t.gone", "t.late"}


def tails_of(recordings):
    (path,) = (recordings.path / "_checkpoint").glob("*.tails")
    return [topic for topic, *_ in json.loads(path.read_text())["topics"]]


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_a_recording_begins_with_the_call_and_not_when_spark_is_ready(recordings, bus, delivery, monkeypatch):
    """Spark starts slowly here: messages sent meanwhile are recorded, messages sent after for_s are not."""
    publisher = bus.publisher("t", delivery=delivery)
    publisher.send(b"before")
    stop = threading.Event()

    @contextmanager
    def slow(*_):
        publisher.send(b"while Spark starts")
        stop.set()
        eventually(lambda: not watching(), "the end of the recording to be noted")
        publisher.send(b"after the end")
        yield recordings.spark

    def watching():
        return any(thread.name == "slipring-record-limits" for thread in threading.enumerate())

    monkeypatch.setattr(job_session, "job_session", slow)
    where = {"bus": bus.name, "root": bus.root, "every_s": 0, "sync": False}
    told = pipelines.record("t", recordings.path, stop=stop, **where)
    assert (told.messages, told.lost) == (1, 0)
    assert recordings.values("t") == [b"while Spark starts"]
    recordings.complete()


def test_loss_of_a_lossy_topic_while_spark_starts_is_counted(recordings, bus, monkeypatch):
    publisher = bus.publisher("t", capacity=4096, slots=16)
    stop = threading.Event()

    @contextmanager
    def slow(*_):
        publisher.send_many([b"x"] * 100)
        stop.set()
        yield recordings.spark

    monkeypatch.setattr(job_session, "job_session", slow)
    told = pipelines.record("t", recordings.path, stop=stop, bus=bus.name, root=bus.root, every_s=0)
    assert told.messages + told.lost == 100 and told.lost == 100 - bus.stats("t")["retained"]
    recordings.complete()


def test_a_recording_for_which_spark_does_not_start_holds_no_messages(recordings, bus, monkeypatch):
    bus.publisher("t", delivery="reliable").send(b"0")

    @contextmanager
    def fails(*_):
        assert bus.cursors("t") != [], "it holds before Spark starts"
        raise KeyError("no Spark")
        yield

    monkeypatch.setattr(job_session, "job_session", fails)
    with pytest.raises(KeyError):
        pipelines.record("t", recordings.path, bus=bus.name, root=bus.root)
    assert bus.cursors("t") == []
    assert [one.finished for one in Lake.open(recordings.path).state.sessions.values()] == [True]


def test_a_task_without_messages_of_an_existing_topic_stops_the_recording(recordings, bus, monkeypatch):
    """As in a container that shares the kernel but not the memory: the batch is refused, and recorded whole later."""
    publisher = bus.publisher("t", delivery="reliable")
    publisher.send_many([b"%d" % number for number in range(10)])
    with monkeypatch.context() as patched:
        patched.setattr(BatchWriter, "_run_tasks", lambda self, lake, messages: messages.collect() and [])
        with pytest.raises(IncompleteBatch, match="offsets 0 to 9 of topic 't'"):
            recordings.record("t", pre_buffer=True)
    told = recordings.record("t", pre_buffer=True)
    assert (told.messages, told.lost) == (10, 0)
    recordings.complete()


@contextmanager
def refusing(spark):
    """A session with Spark's own settings."""
    check = "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"
    before = spark.conf.get(check)
    spark.conf.set(check, "true")
    try:
        yield
    finally:
        spark.conf.set(check, before)
