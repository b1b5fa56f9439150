# SPDX-License-Identifier: Apache-2.0
"""The smallest ring, and a function that fills one."""

import slipring

RING = {"capacity": 4096, "slots": 16}  # one slot is kept unused: 15 messages at most


def fill(pub, body: bytes = b"n", most: int = 10_000) -> int:
    """Send until the ring is full. Return the number of messages sent."""
    for sent in range(most):
        try:
            pub.send(body, timeout=0)
        except slipring.Full:
            return sent
    raise AssertionError(f"the ring took {most} messages: no reader holds anything back")
