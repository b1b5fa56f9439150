# SPDX-License-Identifier: Apache-2.0
"""Sends commands on a reliable topic: what it has sent is kept until the actuator has committed past it."""

import struct

from demo.roles.publishing import publish
from storm.worker import Worker

_COMMAND = struct.Struct("<Qd")


def run(worker: dict) -> None:
    publish(Worker(**worker), "turn", lambda number: _COMMAND.pack(number, number % 360))
