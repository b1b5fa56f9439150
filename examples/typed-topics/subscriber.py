# SPDX-License-Identifier: Apache-2.0
"""The same messages as plain values, as objects of a smaller class, and as columns for DuckDB or pyarrow."""

import pyarrow as pa
import pyarrow.compute as pc
from messages import Summary

import slipring

with slipring.Bus("typed-topics") as bus:
    print(bus.subscriber("imu", start="oldest").recv().value)

    bad = [
        msg.value
        for msg in bus.subscriber("imu", schema=Summary, start="oldest").recv_many(1000)
        if not msg.value.ok
    ]
    print(len(bad), "not ok, the first:", bad[0])

    table = pa.table(bus.subscriber("imu", start="oldest").stream())
    print(table.schema.names)
    print(table.num_rows, "rows, mean of t:", pc.mean(table["t"]))
    bus.remove("imu")
