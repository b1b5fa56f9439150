# SPDX-License-Identifier: Apache-2.0
"""Sends three readings, once somebody listens."""

import slipring

with slipring.Bus("robot") as bus:
    pub = bus.publisher("imu", sender="gyro")
    if not pub.wait_for_subscribers(1, timeout=30):
        raise SystemExit("nobody subscribed within 30 s")
    for reading in (b"0.1 0.2 9.8", b"0.1 0.3 9.8", b"0.2 0.3 9.7"):
        pub.send(reading, type="imu.v1")
