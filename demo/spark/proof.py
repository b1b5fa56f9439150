# SPDX-License-Identifier: Apache-2.0
"""The examination of the recording: `python -m demo.spark.proof CONFIG`, with JSON.

It checks every file of the lake, replays it onto another bus as fast as possible, compares the messages of reliable
topics with the rows of the lake, and writes the report. The results go into the file `result`, as JSON.
"""

import hashlib
import json
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import slipring
from demo import robot
from storm.fork_server import die_with_parent

REPLAYED_ON = "replayed"
_NOT_AGAIN = ("lidar", "planner.*")  # half a gigabyte; and calls, whose client has ended
_COMPARED = tuple(
    name for name, topic in robot.TOPICS.items() if topic.settings.get("delivery") == "reliable"
)


def held(lake: Any) -> list[dict[str, Any]]:
    """Return one row for each topic: the counts of its files."""
    from slipring.pipelines.lake.generations import contents

    return [
        {
            "topic": generation.topic,
            "first": generation.runs[0].first,
            "end": generation.runs[-1].end,
            "messages": generation.messages,
            "lost": generation.lost,
            "abandoned": generation.abandoned,
        }
        for generation in contents(lake)
    ]


def digest(rows: Iterable[tuple[str, str, int, bytes]]) -> str:
    found = hashlib.sha256()
    for sender, kind, time_ns, body in rows:
        found.update(repr((sender, kind, time_ns, len(body))).encode() + bytes(body))
    return found.hexdigest()


def of_lake(rows: Any, topic: str) -> str:
    from pyspark.sql import functions as f

    wanted = rows.where((f.col("topic") == topic) & f.col("value").isNotNull())
    columns = wanted.orderBy("generation", "offset").select("sender", "type", "timestamp_ns", "value")
    return digest(tuple(row) for row in columns.collect())


class Received(threading.Thread):
    """Reads `count` messages of a reliable topic while it is replayed."""

    def __init__(self, bus: slipring.Bus, topic: str, count: int) -> None:
        super().__init__(daemon=True)
        self._subscriber, self._count = bus.subscriber(topic), count
        self.digest = ""
        self.start()

    def run(self) -> None:
        def rows() -> Iterable[tuple[str, str, int, bytes]]:
            for _ in range(self._count):
                message = self._subscriber.recv()
                assert message is not None
                yield message.sender, message.type, message.time_ns, bytes(message.body)

        self.digest = digest(rows())
        self._subscriber.close()


def replayed(spark: Any, lake: Any, root: str) -> dict[str, Any]:
    from slipring import pipelines

    rows, counts = lake.read(spark), {row["topic"]: row["messages"] for row in held(lake)}
    with slipring.Bus(REPLAYED_ON, root=root) as bus:
        for topic in _COMPARED:
            bus.create(topic, **robot.TOPICS[topic].settings)
        readers = {topic: Received(bus, topic, counts.get(topic, 0)) for topic in _COMPARED}
        done = pipelines.replay(lake.path, bus=bus, spark=spark, speed="max", exclude=_NOT_AGAIN)
        for reader in readers.values():
            reader.join(60)
        equal = all(reader.digest == of_lake(rows, topic) for topic, reader in readers.items())
        expected = sum(count for topic, count in counts.items() if topic in done.topics)
        return {"replayed": sum(done.topics.values()), "to_replay": expected, "equal": equal}


def main() -> None:
    config = json.loads(sys.argv[1])
    die_with_parent(config["parent"])
    import slipring.spark
    from slipring.pipelines.lake import Lake
    from slipring.pipelines.lake.verify import verify
    from slipring.pipelines.report import report

    spark = slipring.spark.session(
        "slipring demo, afterwards", master="local[2,4]", **{"spark.driver.memory": "2g"}
    )
    lake = Lake.open(config["lake"])
    verdict = verify(config["lake"])
    result = {
        "held": held(lake),
        "complete": verdict.complete,
        "problems": [f"{problem.where}: {problem.what}" for problem in verdict.problems],
        "rows": verdict.rows,
        **replayed(spark, lake, config["root"]),
    }
    report(config["lake"], html=config["page"], spark=spark)
    Path(config["result"]).write_text(json.dumps(result))
    spark.stop()


if __name__ == "__main__":
    main()
