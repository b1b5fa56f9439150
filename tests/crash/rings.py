# SPDX-License-Identifier: Apache-2.0
"""The smallest ring, what fills it, and a process that holds a claim on it."""

import slipring

RING = {"capacity": 4096, "slots": 16}  # one slot is kept unused: 15 messages at most


def fill(pub, body: bytes = b"n", most: int = 1000) -> int:
    """Sends until the ring is full; how many went in."""
    for sent in range(most):
        try:
            pub.send(body, timeout=0)
        except slipring.Full:
            return sent
    raise AssertionError(f"the ring took {most} messages: nobody holds anything back")


def lender(processes, topic: str = "t"):
    """A process that has claimed and filled a message, and commits it when it is told so."""
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
