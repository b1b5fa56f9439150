# SPDX-License-Identifier: Apache-2.0
"""The base station's program: the same calls, the bus is the robot's, through the bridge."""

import sys

import slipring

with slipring.Bus(sys.argv[1]) as robot:
    for message in robot.subscriber("imu", start="oldest").recv_many(3, timeout=10):
        print(message.seq, message.sender, message.type, message.body.decode())
    commands = robot.publisher("commands", sender="base")
    print("command has sequence", commands.send(b"go"))
