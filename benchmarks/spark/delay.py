# SPDX-License-Identifier: Apache-2.0
"""The time from a send until the message is in the lake.

`record` runs with the shortest batches of Spark (`every_s=0`), and forces files to disk before it commits them
(`sync`, the default). Another process sends a message every 50 ms and reads the lake's log every 2 ms in between. A
message is in the lake when the log has an entry whose file covers its sequence. From then on every reader of the lake
gets it, and it survives every crash. The delay is the time of that read minus the time just before the send, by the
same clock. The first messages warm up the recording and do not count. The result includes the intervals between the
reads, which limit the precision.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import slipring
from benchmarks.spark.rows import BUS

TOPIC = "timed"
EVERY_S = 0.05
WARM_UP = 20
LOOK_EVERY_S = 0.002
LIMIT_S = 60.0
PERCENTILES = (50, 90, 99)

_SEND_AND_LOOK = """
import json, sys, time, slipring
from slipring.pipelines.lake import Lake
bus, root, topic, path, count, warm_up, every_s, look_s, limit_s = json.loads(sys.argv[1])
publisher = slipring.Bus(bus, root=root).publisher(topic)
lake = Lake.open(path)
sent, there, gaps, lost = [], [], [], 0
begun = looked = time.monotonic()
while len(there) < count + warm_up:
    now = time.monotonic()
    if len(sent) < count + warm_up and now >= begun + len(sent) * every_s:
        sent.append(time.monotonic())
        publisher.send(b"%-64d" % len(sent))
    state = lake.refresh()
    now = time.monotonic()
    gaps.append(now - looked)
    looked = now
    runs = [run for one in state.sessions.values() for run in one.coverage.get(topic, [])]
    lost = sum(run.lost for run in runs)
    # the topic's first message, before these, is sequence 0
    there += [now] * (max((run.end for run in runs), default=1) - 1 - len(there))
    if now - begun > limit_s + count * every_s:
        sys.exit(f"{len(there)} of {len(sent)} messages are in the lake")
    time.sleep(look_s)
delays = [after - before for before, after in zip(sent, there)]
gaps.sort()
looks = {"look_s_p99": gaps[len(gaps) * 99 // 100], "look_s_most": gaps[-1]}
print(json.dumps({"delays_s": delays[warm_up:], "lost": lost, **looks}))
"""


def to_lake(spark: Any, root: Path, files: Path, seconds: float) -> dict[str, Any]:
    """Return the delays, the number and the losses of the messages of so many seconds, and the intervals of the log."""
    from slipring import pipelines

    path = files / "lake-timed"
    begun, stop = threading.Event(), threading.Event()
    failed: list[BaseException] = []
    where = {"bus": BUS, "root": root, "spark": spark}

    def record() -> None:
        def follow(figures: Any) -> None:
            if figures.rows:
                begun.set()

        try:
            pipelines.record(TOPIC, path, **where, pre_buffer=True, every_s=0, stop=stop, progress=follow)
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failed.append(error)
        begun.set()

    with slipring.Bus(BUS, root=root) as bus:
        with bus.publisher(TOPIC) as publisher:
            publisher.send(b"first")
        recording = threading.Thread(target=record)
        recording.start()
        try:
            begun.wait(LIMIT_S)
            told = _sent(root, path, max(1, round(seconds / EVERY_S))) if not failed else {}
        finally:
            stop.set()
            recording.join()
            bus.remove(TOPIC)
    if failed:
        raise failed[0]
    return told


def _sent(root: Path, path: Path, count: int) -> dict[str, Any]:
    what = [BUS, str(root), TOPIC, str(path), count, WARM_UP, EVERY_S, LOOK_EVERY_S, LIMIT_S]
    command = [sys.executable, "-c", _SEND_AND_LOOK, json.dumps(what)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return {**told, "messages": count, "at_s": time.time()}


def percentiles_ms(delays_s: list[float]) -> dict[str, float]:
    ordered = sorted(delays_s)
    told = {f"p{each}": ordered[min(len(ordered) - 1, len(ordered) * each // 100)] for each in PERCENTILES}
    return {name: value * 1000 for name, value in {**told, "max": ordered[-1]}.items()}
