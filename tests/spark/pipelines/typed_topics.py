# SPDX-License-Identifier: Apache-2.0
"""Messages of six encodings, for tests of recordings."""

import dataclasses

import numpy as np
import pyarrow as pa

from schema import foreign, samples

POSE = np.dtype([("t", "f8"), ("acc", "f4", (3,)), ("count", "u8"), ("at", "datetime64[ns]"), ("name", "S4")])
ROWS = pa.schema([pa.field("x", pa.float64(), False), ("tags", pa.list_(pa.string())), ("u", pa.uint64())])
COUNT = 20


def batches():
    """Record batches of 1 to 3 rows."""
    for n in range(COUNT):
        rows = [{"x": n + at / 4, "tags": ["a", None], "u": (1 << 64) - 1} for at in range(1 + n % 3)]
        yield pa.RecordBatch.from_pylist(rows, schema=ROWS)


def records():
    found = np.zeros(COUNT, POSE)
    found["t"], found["acc"], found["count"] = np.arange(COUNT), 0.5, (1 << 64) - 1
    found["at"], found["name"] = np.datetime64("2026-11-19T04:05:06.789012345"), b"pose"
    return found


def objects():
    return [
        dataclasses.replace(samples.everything(), i64=n, maybe=n if n % 2 else None) for n in range(COUNT)
    ]


def messages():
    """Declaration, encoding and values by encoding."""
    return {
        "msgpack": (samples.Everything, "msgpack", objects()),
        "json": (samples.Everything, "json", objects()),
        "numpy": (POSE, None, records()),
        "arrow": (ROWS, None, list(batches())),
        "protobuf": (foreign.imu(), None, [{**foreign.IMU, "t": float(n)} for n in range(COUNT)]),
        "flatbuffers": (foreign.bfbs(), None, [{**foreign.FLAT_IMU, "t": float(n)} for n in range(COUNT)]),
    }


def publish(bus, names=None):
    """Publish all of them, each encoding on a topic of its name."""
    for name, (declared, encoding, values) in messages().items():
        if names is None or name in names:
            with bus.publisher(name, "maker", capacity="1MiB", schema=declared, encoding=encoding) as pub:
                for value in values:
                    pub.send(value, type="t")


def bodies(bus, topic):
    with bus.subscriber(topic, start="oldest", lossy=True) as sub:
        return [(m.time_ns, m.sender, m.type, bytes(m.body)) for m in sub.recv_many(1 << 16)]
