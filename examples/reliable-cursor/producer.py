# SPDX-License-Identifier: Apache-2.0
"""Creates a reliable topic and sends ten jobs."""

import slipring

with slipring.Bus("shop") as bus:
    pub = bus.publisher("orders", sender="web", delivery="reliable")
    for number in range(10):
        pub.send(f"order {number}".encode())
    print("sent 10 orders")
