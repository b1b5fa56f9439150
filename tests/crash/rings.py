# SPDX-License-Identifier: Apache-2.0
"""The smallest ring, a function that fills it, and a process that holds a claim on it."""

import slipring

RING = {"capacity": 4096, "slots": 16}  # one slot is kept unused: 15 messages at most


def fill(pub, body: bytes = b"n", most: int = 1000) -> int:
    """Send until the ring is full. Return the number of messages sent."""
    for sent in range(most):
        try:
            pub.send(body, timeout=0)
        except slipring.Full:
            return sent
    raise AssertionError(f"the ring took {most} messages: nobody holds anything back")


def lender(processes, topic: str = "t"):
    """Start a process that claims and fills a message, and commits it after a line from the test."""
    child = processes.start(
        """
        pub = bus.publisher(topic, sender="lender")
        loan = pub.loan(64)
        view = loan.__enter__()
        view[:] = b"x" * 64
        say("filled")
        hear()
        loan.__exit__(None, None, None)
        say(loan.seq)
        hear()
        """,
        topic=topic,
    )
    child.expect("filled")
    return child
