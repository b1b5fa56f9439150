# SPDX-License-Identifier: Apache-2.0
"""Fills frames in place, when both viewers are there."""

import sys

import slipring

with slipring.Bus("robot") as bus:
    frames = bus.frames("front", shape=(480, 640, 3), dtype="u1", buffers=8)
    with frames.publisher(sender="camera") as pub:
        pub.wait_for_subscribers(2)
        for number in range(int(sys.argv[1])):
            with pub.frame(meta={"exposure": 100 + number}) as image:
                image[:] = 10 * number
        print("sent", sys.argv[1])
