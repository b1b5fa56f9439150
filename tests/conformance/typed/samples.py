# SPDX-License-Identifier: Apache-2.0
"""The classes and the dtype of these tests. They are in a module, so that messages with them can be pickled."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class Fewer:
    """A view with fewer fields, and one more that has a default."""

    acc: list[float]
    note: str = "none"


@dataclass
class OtherType:
    """Imu with another type of t."""

    t: int
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class Needs:
    """A view that needs a field that Imu lacks."""

    acc: list[float]
    speed: float


STILL = Imu(0.5, (0.1, 0.2, 9.8))
PLAIN = {"t": 0.5, "acc": [0.1, 0.2, 9.8], "ok": True}
FIXED = np.dtype([("t", "<f8"), ("acc", "<f8", (3,)), ("ok", "?")])
HEAD = ["topic", "offset", "timestamp", "sender", "type"]
SMALL = {"capacity": "64KiB"}


def numbered(count: int) -> list[Imu]:
    return [Imu(float(number), (0.0, 0.0, 9.8)) for number in range(count)]


def records(count: int) -> np.ndarray:
    array = np.zeros(count, FIXED)
    array["t"] = np.arange(count)
    array["acc"] = np.arange(3 * count).reshape(count, 3)
    array["ok"] = np.arange(count) % 2 == 0
    return array
