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
        took, seen = [], -1
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
    """Two publishers at a pace, and a recording beside them: what it has when they end, and what it lost."""
    from slipring import pipelines

    topic = f"paced-{size}"
    with slipring.Bus(BUS, root=root) as bus:
        bus.create(topic, capacity=1 << 29, slots=1 << 22 if size < 256 else 1 << 19, delivery="lossy")
        each = [BUS, str(root), topic, rate // PUBLISHERS, size, seconds]
        command = [sys.executable, "-c", _PUBLISH, json.dumps(each)]
        publishers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PUBLISHERS)]
        lags: list[int] = []
        told = pipelines.record(
            [topic],
            files / f"lake-{size}",
            bus=BUS,
            root=root,
            for_s=seconds + 2,
            pre_buffer=True,
            sync=False,
            spark=spark,
            progress=lambda figures: lags.append(figures.lag or 0),
        )
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
