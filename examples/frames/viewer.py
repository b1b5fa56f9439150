# SPDX-License-Identifier: Apache-2.0
"""Shows frames: every one, or when the last has come only the newest."""

import sys

import slipring

kind, count = sys.argv[1], int(sys.argv[2])

with slipring.Bus("robot") as bus:
    sub = bus.frames("front").subscriber(conflate=kind == "newest")
    seen = 0
    while seen < count:
        with sub.recv() as frame:
            if kind == "newest" and frame.id < 4:
                continue
            print(
                f"{kind}: frame {frame.id} {frame.array.shape} brightness {frame.array.mean():g}"
                f" exposure {frame.meta['exposure']}"
            )
            seen += 1
    print(f"{kind}: lost {sub.lost}")
