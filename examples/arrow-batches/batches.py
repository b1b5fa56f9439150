# SPDX-License-Identifier: Apache-2.0
"""Ten thousand messages from the ring into Arrow columns in one C pass each, then a question to them."""

import struct

import pyarrow.compute as pc

import slipring

with slipring.Bus("plant") as bus:
    pub = bus.publisher("temperature", capacity="4MiB", slots=32768)
    sub = bus.subscriber("temperature")
    for room in ("kitchen", "cellar"):
        warmth = 21.5 if room == "kitchen" else 12.0
        pub.send_many([struct.pack("<d", warmth)] * 5000, type=room)

    batch = sub.recv_batch(65536, timeout=1.0)
    print(batch.num_rows, "rows,", sub.lost, "lost")
    print(batch.schema.to_string())
    print(batch.column("type").value_counts().to_pylist())
    cellar = batch.filter(pc.equal(batch.column("type"), "cellar"))
    print("first cellar row:", cellar.column("offset")[0].as_py())

    bus.remove("temperature")
