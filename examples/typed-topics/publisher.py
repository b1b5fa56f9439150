# SPDX-License-Identifier: Apache-2.0
"""Declare a message once, and send objects."""

from messages import Imu

import slipring

with slipring.Bus("typed-topics") as bus:
    pub = bus.publisher("imu", sender="gyro", schema=Imu)
    for step in range(1000):
        pub.send(Imu(step / 100, (0.1, 0.2, 9.8), ok=step % 100 != 99))
    print(bus.schema("imu").ddl)
