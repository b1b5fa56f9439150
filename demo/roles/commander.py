# SPDX-License-Identifier: Apache-2.0
"""Sends commands on a reliable topic, which keeps each until the actuator has committed it."""

import struct

from demo.roles.publishing import publish
from storm.worker import Worker

_COMMAND = struct.Struct("<Qd")


def run(worker: dict) -> None:
    publish(Worker(**worker), "turn", lambda number: _COMMAND.pack(number, number % 360))
