# SPDX-License-Identifier: Apache-2.0
"""Metadata of a camera's frames: number, exposure, buffer of the pixels; small JSON at 30 Hz."""

import json

from demo.roles.publishing import publish
from storm.worker import Worker


def _about(number: int) -> bytes:
    return json.dumps({"frame": number, "exposure_us": 8000 + number % 400, "buffer": number % 4}).encode()


def run(worker: dict) -> None:
    publish(Worker(**worker), "camera.frame", _about)
