# SPDX-License-Identifier: Apache-2.0
"""The messages of both programs."""

from dataclasses import dataclass


@dataclass
class Imu:
    t: float
    acc: tuple[float, float, float]
    ok: bool = True


@dataclass
class Summary:
    """What one subscriber needs of an Imu."""

    t: float
    ok: bool
