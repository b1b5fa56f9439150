# SPDX-License-Identifier: Apache-2.0
"""Prints three readings. May be started before the topic exists."""

import slipring

with slipring.Bus("robot") as bus:
    sub = bus.subscriber("imu")
    for _ in range(3):
        msg = sub.recv(timeout=30)
        if msg is None:
            raise SystemExit("nothing came within 30 s")
        print(msg.seq, msg.sender, msg.type, msg.body.decode())
    print("lost:", sub.lost)
