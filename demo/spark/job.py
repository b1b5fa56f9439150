# SPDX-License-Identifier: Apache-2.0
"""The Spark job that runs beside the robot: `python -m demo.spark.job CONFIG`, with JSON.

One session, two streams: a recording of all topics into a lake, and counts per topic and second, published on the topic
"traffic". Both continue after a kill at any moment. SIGTERM: record what is published, then end.
"""

import json
import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from demo.spark.pipeline import RECORDED, SUMMED, TRAFFIC
from storm.fork_server import die_with_parent

MASTER = "local[2,4]"


def _sums(spark: Any, config: dict[str, Any]) -> Any:
    from pyspark.sql import functions as f

    place = {"bus": config["bus"], "root": config["root"]}
    reading = spark.readStream.format("slipring").options(**place, subscribe=",".join(SUMMED))
    messages = reading.options(
        groupId="traffic", failOnDataLoss="false", columns="topic,timestamp,value"
    ).load()
    second = f.window("timestamp", "1 second")
    counted = messages.withWatermark("timestamp", "1 second").groupBy(second, "topic")
    sums = counted.agg(f.count("*").alias("messages"), f.sum(f.length("value")).alias("bytes"))
    columns = f.struct(f.col("window.end").cast("double").alias("until_s"), "topic", "messages", "bytes")
    rows = sums.select(f.to_json(columns).cast("binary").alias("value"), f.lit("traffic.v1").alias("type"))
    writing = rows.writeStream.format("slipring").options(**place, topic=TRAFFIC)
    return (
        writing.option("checkpointLocation", config["checkpoint"]).trigger(processingTime="1 second").start()
    )


def main() -> None:
    config = json.loads(sys.argv[1])
    die_with_parent(config["parent"])
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    import slipring.spark
    from slipring import pipelines

    state = Path(config["state"])

    def save(figures: Any) -> None:
        partial = state.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(figures)))
        partial.replace(state)

    spark = slipring.spark.session("slipring demo", master=MASTER, **{"spark.driver.memory": "1g"})
    sums = _sums(spark, config)
    pipelines.record(
        RECORDED,
        config["lake"],
        bus=config["bus"],
        root=config["root"],
        pre_buffer=True,
        sync=False,
        spark=spark,
        progress=save,
        stop=stop,
    )
    if sums.exception() is not None:
        raise sums.exception()
    sums.stop()
    spark.stop()


if __name__ == "__main__":
    main()
