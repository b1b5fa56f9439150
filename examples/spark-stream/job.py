# SPDX-License-Identifier: Apache-2.0
"""A Spark stream over the topic: what is there now, into Parquet, then a query over everything so far.

Run it again after more was published, or after it was killed: every reading is in the table once.
"""

import slipring.spark

spark = slipring.spark.session("readings", master="local[2,4]")
stream = (
    spark.readStream.format("slipring")
    .options(bus="plant", subscribe="readings", groupId="archive", startingOffsets="earliest")
    .options(valueFormat="numpy", valueDtype="[('place', 'S8'), ('celsius', '<f4')]")
    .options(valueSchema="place STRING, celsius FLOAT", columns="offset,timestamp")
    .load()
)
table = stream.writeStream.format("parquet").option("path", "readings")
table.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start().awaitTermination()

spark.read.parquet("readings").createOrReplaceTempView("readings")
spark.sql(
    "select place, count(*) as readings, avg(celsius) as celsius from readings group by place order by place"
).show()
spark.stop()
