# SPDX-License-Identifier: Apache-2.0
"""Streaming sources side by side, each to a sink that takes everything and does nothing (`noop`).

topic     the rows of a topic, `availableNow`, in several batches by `maxOffsetsPerTrigger`
Parquet   the same rows: Spark's file source on the folder of Parquet files, `availableNow`, as many batches
rate      Spark's rate source. It has no outside: it makes its rows itself, a time and a number of 8 bytes each
socket    Spark's socket source: lines of 63 bytes from a server in this process. It is for tests: its rows are in the
          driver's memory and go to the tasks from there, as lists that are slower the longer they are; what was sent
          is lost when the query starts again

A rate is rows by the time of the batches that had some (`triggerExecution`), which is how Spark computes
`processedRowsPerSecond`: planning, logs and commits are in it, the start of the query is not. The socket is read
between batches, too, so that its time runs from the first line sent until a batch with the last one has ended. The
topic, the files and the rate source have the same number of tasks; the socket source has as many as Spark gives it.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.spark.rows import PARQUET_FILES, TASKS, Rows

BATCHES = PARQUET_FILES // TASKS
RATE_ROWS_PER_S = 2_000_000
SOCKET_ROWS = 50_000
LINE = b"x" * 63 + b"\n"
LINES = 1000  # of a send
LOOK_EVERY_S = 0.02
LIMIT_S = 120.0


@contextmanager
def _running(frame: Any, rows: Rows, **trigger: bool) -> Iterator[Any]:
    checkpoint = Path(rows.files).with_name(f"checkpoint-{time.monotonic_ns()}")
    writing = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = (writing.trigger(**trigger) if trigger else writing).start()
    try:
        yield query
    finally:
        query.stop()


def _batches(query: Any) -> dict[int, tuple[int, float]]:
    """Rows and seconds of the batches that had rows."""
    told = [each for each in query.recentProgress if each.numInputRows]
    return {each.batchId: (each.numInputRows, each.durationMs["triggerExecution"] / 1000) for each in told}


def _rate(batches: dict[int, tuple[int, float]]) -> float:
    return sum(count for count, _ in batches.values()) / sum(took for _, took in batches.values())


def _until(query: Any, there: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not there():
        if query.exception() is not None:
            raise query.exception()
        if time.monotonic() - begun > LIMIT_S:
            raise TimeoutError(f"no more rows after {LIMIT_S:g} s: {query.lastProgress}")
        time.sleep(LOOK_EVERY_S)


def _all_now(frame: Any, rows: Rows) -> float:
    with _running(frame, rows, availableNow=True) as query:
        query.awaitTermination()
        found = _batches(query)
    count = sum(count for count, _ in found.values())
    if (count, len(found)) != (rows.count, BATCHES):
        raise RuntimeError(f"{count} of {rows.count} rows in {len(found)} batches, not {BATCHES}")
    return _rate(found)


def _topic(spark: Any, rows: Rows) -> float:
    reading = spark.readStream.format("slipring").options(
        **rows.options(subscribe=rows.topic, columns="value", startingOffsets="earliest")
    )
    limits = {"minPartitions": str(TASKS), "maxOffsetsPerTrigger": str(-(-rows.count // BATCHES))}
    return _all_now(reading.options(**limits).load(), rows)


def _parquet(spark: Any, rows: Rows) -> float:
    schema = spark.read.parquet(rows.files).schema
    reading = spark.readStream.schema(schema).option("maxFilesPerTrigger", str(TASKS))
    return _all_now(reading.parquet(rows.files).select("value"), rows)


def _made(spark: Any, rows: Rows) -> float:
    """The first batch is the one that does not count: it has what the start took."""
    reading = spark.readStream.format("rate").option("rowsPerSecond", str(RATE_ROWS_PER_S))
    with _running(reading.option("numPartitions", str(TASKS)).load(), rows) as query:
        # Stopped amid a batch, Spark would tell so at length.
        _until(query, lambda: len(_batches(query)) > BATCHES and not query.status["isTriggerActive"])
        found = _batches(query)
    del found[min(found)]
    return _rate(found)


def _lines(spark: Any, rows: Rows) -> float:
    count = min(rows.count, SOCKET_ROWS) // LINES * LINES
    with _serving(count) as (port, begun):
        reading = spark.readStream.format("socket").options(host="127.0.0.1", port=str(port))
        with _running(reading.load(), rows) as query:
            _until(query, lambda: sum(rows for rows, _ in _batches(query).values()) >= count)
            return count / (time.monotonic() - begun[0])


@contextmanager
def _serving(count: int) -> Iterator[tuple[int, list[float]]]:
    """A server's port, and when it began to send; it closes the connection when the question is over."""
    begun: list[float] = []
    over = threading.Event()

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            begun.append(time.monotonic())
            for _ in range(count // LINES):
                connection.sendall(LINE * LINES)
            over.wait(LIMIT_S)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT_S)
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        try:
            yield server.getsockname()[1], begun
        finally:
            over.set()
            thread.join()


SOURCES: dict[str, Callable[[Any, Rows], float]] = {
    "topic": _topic,
    "Parquet files": _parquet,
    "rate source": _made,
    "socket source": _lines,
}


def rate(source: str, spark: Any, rows: Rows) -> float:
    """Rows a second."""
    return SOURCES[source](spark, rows)
