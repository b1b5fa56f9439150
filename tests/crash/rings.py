# SPDX-License-Identifier: Apache-2.0
"""The smallest ring (support/rings.py), and a process that holds a claim on it."""

from support.rings import RING as RING
from support.rings import fill as fill


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
