# SPDX-License-Identifier: Apache-2.0
"""The sink's outbox without Spark: staged batches are published once, after a kill between any two steps (promise 30),
and stale files of crashed processes are found."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StringType, StructType

import slipring
from slipring._bus.exactly_once import process_identity
from slipring._bus.exactly_once.outbox import Batch, Outbox, Part
from slipring.spark.sink.batch_publisher import BatchPublisher
from slipring.spark.sink.staged_rows import STAGED
from slipring.spark.sink.writer import Staged, StreamWriter

ROWS = 6


def stage(outbox: Outbox, number: int, rows: list[tuple[str, str]], owner: str = "") -> Batch:
    """Stage the rows (topic, body) as two parts."""
    parts = []
    for partition, some in enumerate((rows[: len(rows) // 2], rows[len(rows) // 2 :])):
        path = outbox.stage(number, partition, owner)
        columns = [
            [body.encode() for _, body in some],
            [topic for topic, _ in some],
            *([[""] * len(some)] * 2),
        ]
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, STAGED) as file:
            arrays = [pa.array(column, kind) for column, kind in zip(columns, STAGED.types, strict=True)]
            file.write_batch(pa.record_batch(arrays, schema=STAGED))
        parts.append(Part(os.path.basename(path), len(some), os.stat(path).st_size))
    return Batch(number, tuple(parts), tuple(sorted({topic for topic, _ in rows})))


def publish(bus, outbox: Outbox, batch: Batch, timeout: float | None = None) -> None:
    outbox.publish(batch, BatchPublisher(bus, outbox, timeout).send)


def bodies(sub) -> list[str]:
    return [msg.body.decode() for msg in sub.recv_many(1000)]


def rows_of(number: int, order: str = "as they are") -> list[tuple[str, str]]:
    rows = [("ab"[row % 2], f"{number}.{row}.{order}") for row in range(ROWS)]
    return rows if order == "as they are" else rows[::-1]


DOOMED = """
import os, signal, sys
sys.path.insert(0, tests)
from spark.sink import test_outbox as outside
from slipring._bus.exactly_once.origin import Origin
from slipring._bus.exactly_once.origin import Origin
from slipring._bus.exactly_once.outbox import Outbox

outside.pa.array([b""])  # imports pandas, once, before the forks

def attempt(number, order, kill_at):
    steps = 0
    def step():
        nonlocal steps
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    def around(real):
        def call(*args, **kwargs):
            step()
            result = real(*args, **kwargs)
            step()
            return result
        return call
    with slipring.Bus("test", root=root) as bus:
        outbox = Outbox(bus.path, "query")
        batch = outside.stage(outbox, number, outside.rows_of(number, order))
        os.replace, os.unlink, Origin.send_rows = map(around, (os.replace, os.unlink, Origin.send_rows))
        outside.publish(bus, outbox, batch)

while True:
    arguments = hear()
    pid = os.fork()
    if pid == 0:
        attempt(*arguments)
        os._exit(0)
    say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("delivery", ["reliable", "lossy"])
def test_a_publisher_killed_between_any_two_steps_publishes_the_first_begun_batch_once(
    bus, processes, delivery
):
    readers = {}
    for topic in "ab":
        bus.create(topic, delivery=delivery, capacity=65536)
        readers[topic] = bus.subscriber(topic)
    doomed = processes.start(DOOMED, tests=str(Path(__file__).resolve().parents[2]))
    begun_by_the_first = killed = number = 0
    while True:
        doomed.say(number, "as they are", number + 1)
        code = doomed.hear()
        assert code in (0, -9)
        doomed.say(number, "again", 0)  # a restart stages the batch again, with its rows in another order
        doomed.expect(0)
        doomed.say(number, "again", 0)  # and Spark may commit it again
        doomed.expect(0)
        found = {topic: bodies(readers[topic]) for topic in "ab"}
        orders = {order: {t: [b for topic, b in rows_of(number, order) if topic == t] for t in "ab"}
                  for order in ("as they are", "again")}  # fmt: skip
        assert found in orders.values(), (number, found)
        begun_by_the_first += found == orders["as they are"]
        if code == 0:
            break
        killed += 1
        number += 1
    assert killed > 2 * ROWS + 4 and begun_by_the_first > 2 * ROWS
    assert Outbox(bus.path, "query").parts() == []
    doomed.kill()


def test_missing_staged_rows_are_reported_before_anything_is_published(bus):
    outbox = Outbox(bus.path, "query")
    batch = stage(outbox, 0, rows_of(0))
    outbox.drop(batch.parts[1].file)
    sub = bus.subscriber("a")
    with pytest.raises(slipring.SystemFault, match="was removed or changed by another program"):
        publish(bus, outbox, batch)
    assert bodies(sub) == [] and outbox.begun() is None
    outbox.remove()


def test_a_full_topic_holds_the_batch_until_the_timeout_and_a_restart_continues_it(bus):
    pub = bus.publisher("a", delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("a")
    outbox = Outbox(bus.path, "query")
    rows = [("a", str(number)) for number in range(40)]
    batch = stage(outbox, 7, rows)
    with pytest.raises(slipring.Full, match="continues with the rest of the batch") as caught:
        publish(bus, outbox, batch, timeout=0.01)
    assert caught.value.argument == "timeout"
    got = bodies(sub)
    assert 0 < len(got) < 40 and outbox.begun() == batch
    while len(got) < 40:
        with pytest.raises(slipring.Full):
            publish(bus, outbox, batch, timeout=0.01)
        got += bodies(sub)
        if len(got) > 25:
            break
    publish(bus, outbox, batch)
    got += bodies(sub)
    assert got == [body for _, body in rows]
    pub.close()


def writer_and_messages(bus, outbox: Outbox, batch: Batch, **options):
    schema = StructType().add("value", BinaryType()).add("topic", StringType())
    writer = StreamWriter({"bus": bus.name, "root": bus.root, **options}, schema)
    messages = [Staged(outbox.job, at, part, batch.topics) for at, part in enumerate(batch.parts)]
    return writer, [Staged(outbox.job, 99, None, ()), *messages[::-1]]


def test_a_commit_publishes_in_order_of_partition_and_an_abort_drops_staged_rows(bus):
    outbox = Outbox(bus.path, "query")
    sub = bus.subscriber("a")
    batch = stage(outbox, 0, [("a", str(number)) for number in range(6)])
    writer, messages = writer_and_messages(bus, outbox, batch)
    writer.commit(messages, 0)
    assert bodies(sub) == [str(number) for number in range(6)]
    writer, messages = writer_and_messages(bus, outbox, stage(outbox, 1, rows_of(1)))
    writer.abort([None, *messages], 1)
    assert outbox.parts() == [] and bodies(sub) == []


def test_an_abort_after_half_a_batch_keeps_the_rows_for_the_rest(bus):
    bus.create("a", delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("a")
    outbox = Outbox(bus.path, "query")
    batch = stage(outbox, 0, [("a", str(number)) for number in range(20)])
    writer, messages = writer_and_messages(bus, outbox, batch, timeout="0")
    with pytest.raises(slipring.Full):
        writer.commit(messages, 0)
    writer.abort(messages, 0)
    got = bodies(sub)
    writer.commit(writer_and_messages(bus, outbox, stage(outbox, 0, rows_of(0)))[1], 0)
    assert got + bodies(sub) == [str(number) for number in range(20)] and outbox.parts() == []


def test_two_processes_never_publish_for_one_query_at_the_same_time(bus, processes, background):
    bus.create("a", delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("a")
    outbox = Outbox(bus.path, "query")
    batch = stage(outbox, 0, [("a", str(number)) for number in range(40)])
    first = background(publish, bus, outbox, batch)
    with slipring.Bus("test", root=bus.root) as other:
        second = background(publish, other, Outbox(bus.path, "query"), batch)
        got = []
        while len(got) < 40:
            got += [msg.body.decode() for msg in sub.recv_many(5, timeout=60)]
        first.result()
        second.result()
    assert got == [str(number) for number in range(40)] and bodies(sub) == []


def test_doctor_clears_staged_rows_of_dead_jobs_and_keeps_a_begun_batch(bus):
    bus.create("a", delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("a")
    alive = process_identity.mark(os.getpid())
    living, query, brief = (Outbox(bus.path, job) for job in ("living", "query", "job-1"))
    stage(living, 0, rows_of(0), owner=alive)
    publish(bus, query, stage(query, 0, [("a", "x"), ("a", "y")]))
    rest = stage(query, 1, rows_of(1))
    stage(brief, 0, rows_of(0))
    found = {finding["topic"]: finding for finding in bus.doctor()}
    assert set(found) == {"query", "job-1"} and "staged rows" in found["query"]["problem"]
    bus.doctor(repair=True)
    assert bus.doctor() == [] and query.parts() == [] and query.done == 0 and len(living.parts()) == 2
    assert not os.path.exists(brief.path)
    rest = stage(query, 1, [("a", str(number)) for number in range(40)])
    with pytest.raises(slipring.Full):
        publish(bus, query, rest, timeout=0)
    (finding,) = bus.doctor(repair=True)
    assert "in part" in finding["problem"] and query.begun() == rest
    sub.close()
    publish(bus, query, rest)
    assert bus.doctor() == []
    bus.remove("a")
    assert [finding["topic"] for finding in bus.doctor(repair=True)] == ["query"]
    assert not os.path.exists(query.path)
    living.remove()


def test_staged_rows_are_readable_by_their_user_only(bus):
    outbox = Outbox(bus.path, "query")
    stage(outbox, 0, rows_of(0))
    place = Path(outbox.path)
    modes = [place.parent.parent, place.parent, place, *place.iterdir()]
    assert {oct(path.stat().st_mode & 0o077) for path in modes} == {"0o0"}
    outbox.remove()
    assert not place.parent.parent.exists()
