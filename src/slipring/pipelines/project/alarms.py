# SPDX-License-Identifier: Apache-2.0
#
# A pipeline of Spark's from topic to table to topic. `slipring pipeline init` writes it: change it as you need.
#
#     reads      topic `readings`   JSON such as {"sensor": "oven", "celsius": 81.5}
#     fills      table `readings`   one row for each message
#     publishes  topic `alarms`     {"sensor": …, "celsius": …} for each reading above 80
#
# `slipring pipeline run` processes the messages since the last run, and ends. If the topic `readings` is reliable, no
# message is lost or processed twice from the first run on, even if processes are killed. If it is lossy, a run fails
# when messages were overwritten since the run before.
#
# Each function below defines a table, or a flow into a sink. Spark runs them in the order of their dependencies, and
# keeps in `storage` (see spark-pipeline.yml) how far each one has come.
import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()

BUS = os.environ.get("SLIPRING_BUS", "default")  # `slipring --bus NAME pipeline run` sets it


# The table `readings`: every message of the topic `readings`.
# groupId names the cursor that keeps messages of a reliable topic until they are in the table.
@dp.table(comment="every reading, as it came")
def readings() -> DataFrame:
    topic = {"bus": BUS, "subscribe": "readings", "groupId": "pipeline", "startingOffsets": "earliest"}
    messages = spark.readStream.format("slipring").options(**topic).load()
    fields = F.from_json(F.col("value").cast("string"), "sensor string, celsius double")
    return messages.select("offset", "timestamp", fields.alias("reading")).select(
        "offset", "timestamp", "reading.*"
    )


# The topic `alarms`: created with these settings if it does not exist.
dp.create_sink("alarms", "slipring", {"bus": BUS, "topic": "alarms", "delivery": "reliable"})


# Its contents: one message for each hot reading. The columns are the message's value, type and sender.
@dp.append_flow(target="alarms")
def hot_readings() -> DataFrame:
    hot = spark.readStream.table("readings").where("celsius > 80")
    value = F.to_json(F.struct("sensor", "celsius"))
    return hot.select(value.alias("value"), F.lit("alarm.v1").alias("type"), F.col("sensor").alias("sender"))
