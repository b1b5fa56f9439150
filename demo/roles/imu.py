# SPDX-License-Identifier: Apache-2.0
"""An inertial sensor: small messages at 1 kHz, one of two writers of a lossy topic, which never wait."""

import math
import struct

from demo.roles.publishing import publish
from storm.worker import Worker

_SAMPLE = struct.Struct("<5d")


def _sample(number: int) -> bytes:
    angle = number / 500
    return _SAMPLE.pack(math.sin(angle), math.cos(angle), 9.81, angle, 0.0)


def run(worker: dict) -> None:
    publish(Worker(**worker), "imu.v1", _sample)
