# SPDX-License-Identifier: Apache-2.0
"""Publish to a reliable topic, and to a lossy one whose ring holds only a few messages."""

import slipring

with slipring.Bus("example-record") as bus:
    commands = bus.publisher("robot.commands", sender="desk", delivery="reliable")
    scans = bus.publisher("robot.scans", sender="lidar", capacity=4096, slots=16)
    for number in range(100):
        commands.send(b"go %d" % number, type="command")
    for number in range(1000):
        scans.send(b"scan %d" % number, type="scan")
