# SPDX-License-Identifier: Apache-2.0
"""Fills a message in the ring and reads it there: the body is copied nowhere."""

import slipring

WIDTH, HEIGHT = 640, 480

with slipring.Bus("robot") as bus:
    pub = bus.publisher("image", sender="camera", capacity="4MiB")
    sub = bus.subscriber("image")

    with pub.loan(WIDTH * HEIGHT, type="grey8") as pixels:  # a writable memoryview of the ring
        for row in range(HEIGHT):
            pixels[row * WIDTH : (row + 1) * WIDTH] = bytes([row % 256]) * WIDTH
    # leaving the block commits; an exception in it aborts, and nobody sees anything

    with sub.view(timeout=1.0) as msg:  # the same memory, read-only, held until the block ends
        print(msg.seq, msg.type, len(msg.body), "first row:", msg.body[0], "row 100:", msg.body[100 * WIDTH])

    bus.remove("image")
