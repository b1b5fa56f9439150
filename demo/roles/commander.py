# SPDX-License-Identifier: Apache-2.0
"""Sends commands on a reliable topic: what it has sent is kept until the actuator has committed past it."""

import struct

from demo.roles.part import Part, publish

_COMMAND = struct.Struct("<Qd")


def play(part: Part) -> None:
    publish(part, "turn", lambda number: _COMMAND.pack(number, number % 360))
