# SPDX-License-Identifier: Apache-2.0
"""``python loops.py ROOT COUNT``: run the hot paths one after the other, COUNT messages each, for a profiler.

`check_name` is called between two hot paths, and the profiler begins a new part there. So the parts of the profile are
a first one for the start, then those of PARTS in order.
"""

import sys
from collections.abc import Callable
from itertools import repeat

import slipring
from slipring import _native

PARTS = ["send", "recv", "send with type", "recv with timeout", "send of a buffer", "recv_into"]
PARTS += ["send_many", "recv_batch", "send_many of buffers", "recv_many", "loan", "view"]
BODY = bytes(64)
AT_ONCE = 500


def again(action: Callable[[], object], count: int) -> None:
    for _ in repeat(None, count):
        action()


def main(root: str, count: int) -> None:
    bus = slipring.Bus("speed", root=root)
    pub = bus.publisher("t", sender="sender", capacity="8MiB", slots=1 << 15)
    sub = bus.subscriber("t")
    buffer = bytearray(64)
    bodies, buffers = [BODY] * AT_ONCE, [buffer] * AT_ONCE

    def lend() -> None:
        with pub.loan(64):
            pass

    def look() -> None:
        with sub.view():
            pass

    loops: dict[str, Callable[[], object]] = {
        "send": lambda: again(lambda: pub.send(BODY), count),
        "recv": lambda: again(sub.recv, count),
        "send with type": lambda: again(lambda: pub.send(BODY, type="a.type"), count),
        "recv with timeout": lambda: again(lambda: sub.recv(timeout=1.0), count),
        "send of a buffer": lambda: again(lambda: pub.send(buffer), count),
        "recv_into": lambda: again(lambda: sub.recv_into(buffer), count),
        "send_many": lambda: again(lambda: pub.send_many(bodies), count // AT_ONCE),
        "recv_batch": lambda: again(lambda: sub.recv_batch(AT_ONCE), count // AT_ONCE),
        "send_many of buffers": lambda: again(lambda: pub.send_many(buffers), count // AT_ONCE),
        "recv_many": lambda: again(lambda: sub.recv_many(AT_ONCE), count // AT_ONCE),
        "loan": lambda: again(lend, count),
        "view": lambda: again(look, count),
    }
    for _ in range(2):  # the first round makes the objects that are made once
        for part in PARTS:
            _native.check_name("topic", "mark")
            loops[part]()
    _native.check_name("topic", "mark")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
