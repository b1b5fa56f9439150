# SPDX-License-Identifier: Apache-2.0
"""The robot's program: ordinary shared memory, nothing about networks."""

import slipring

with slipring.Bus("robot") as bus, bus.publisher("imu", sender="gyro", delivery="reliable") as imu:
    for number in range(3):
        imu.send(b"reading %d" % number, type="imu.v1")
