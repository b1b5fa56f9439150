# SPDX-License-Identifier: Apache-2.0
#
# From topic to table to topic, with Spark's declarative pipelines.
#
# Each function below defines a table, or a flow into a sink. Spark runs them in the order of their dependencies, and
# keeps in `storage` (see spark-pipeline.yml) how far each one has come. A run processes new messages and ends. Between
# runs nothing is lost or processed twice, even if processes are killed.
import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()

BUS = os.environ.get("SLIPRING_BUS", "default")  # `slipring --bus NAME pipeline run` sets it


# The table `readings`: every message of the topic `readings`, such as {"sensor": "oven", "celsius": 81.5}.
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
