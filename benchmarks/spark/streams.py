# SPDX-License-Identifier: Apache-2.0
"""What a micro-batch costs, and what a recording keeps up with."""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import slipring
from benchmarks.spark.rows import BUS

BATCHES = 30
PUBLISHERS = 2

_PUBLISH = """
import json, sys, time, slipring
bus, root, topic, rate, size, seconds = json.loads(sys.argv[1])
publisher = slipring.Bus(bus, root=root).publisher(topic)
bodies = [i.to_bytes(8, "little") * (size // 8) for i in range(1000)]
begun, sent = time.monotonic(), 0
while sent < rate * seconds:
    publisher.send_many(bodies)
    sent += len(bodies)
    ahead = sent / rate - (time.monotonic() - begun)
    if ahead > 0:
        time.sleep(ahead)
print(sent, time.monotonic() - begun)
"""


def micro_batch_s(spark: Any, root: Path, files: Path) -> list[float]:
    """How long each of many small batches took."""
    with slipring.Bus(BUS, root=root) as bus, bus.publisher("small", delivery="reliable") as publisher:
        reading = spark.readStream.format("slipring").options(
            bus=BUS, root=str(root), subscribe="small", groupId="b"
        )
        writing = reading.load().writeStream.format("noop").option("checkpointLocation", str(files / "small"))
        query = writing.start()
        took: list[float] = []
        seen = -1
        while len(took) < BATCHES + 5:
            publisher.send(b"x")
            query.processAllAvailable()
            last = query.lastProgress
            if last is not None and last.batchId != seen and last.numInputRows:
                seen = last.batchId
                took.append(last.durationMs["triggerExecution"] / 1000)
        query.stop()
    return took[5:]


def recording(spark: Any, root: Path, files: Path, size: int, rate: int, seconds: float) -> dict[str, Any]:
    """Two publishers at a pace, and a recording that was there before them: what it has of theirs, and what it lost."""
    from slipring import pipelines

    topic = f"paced-{size}"
    publishers: list[subprocess.Popen[str]] = []
    lags: list[int] = []
    with slipring.Bus(BUS, root=root) as bus:
        bus.create(topic, capacity=1 << 31, slots=1 << 23 if size < 256 else 1 << 21, delivery="lossy")
        each = [BUS, str(root), topic, rate // PUBLISHERS, size, seconds]
        command = [sys.executable, "-c", _PUBLISH, json.dumps(each)]
        with bus.publisher(topic) as publisher:
            publisher.send(bytes(size))

        def follow(figures: Any) -> None:
            if figures.rows and not publishers:
                publishers.extend(
                    subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PUBLISHERS)
                )
            lags.append(figures.lag or 0)

        lake = files / f"lake-{size}"
        limits: dict[str, Any] = {"until_idle_s": 5.0, "pre_buffer": True, "every_s": 0, "sync": False}
        told = pipelines.record([topic], lake, bus=BUS, root=root, spark=spark, progress=follow, **limits)
        outputs = [publisher.communicate()[0].split() for publisher in publishers]
        published = bus.stats(topic)["published"]
        bus.remove(topic)
    took = max(float(output[1]) for output in outputs)
    return {
        "asked_per_s": rate,
        "published_per_s": published / took,
        "published": published,
        "recorded": told.messages,
        "lost": told.lost,
        "lag_median": statistics.median(lags) if lags else None,
        "lag_most": max(lags, default=None),
        "all_s": told.elapsed_s,
        "at_s": time.time(),
    }
