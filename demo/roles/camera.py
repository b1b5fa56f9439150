# SPDX-License-Identifier: Apache-2.0
"""A camera's frames by what is said of them: number, exposure, where the pixels are; small JSON at 30 Hz."""

import json

from demo.roles.part import Part, publish


def _about(number: int) -> bytes:
    return json.dumps({"frame": number, "exposure_us": 8000 + number % 400, "buffer": number % 4}).encode()


def play(part: Part) -> None:
    publish(part, "camera.frame", _about)
