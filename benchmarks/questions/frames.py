# SPDX-License-Identifier: Apache-2.0
"""Does handing over a frame cost more when it is larger? Three sizes, up to 4K RGB, no copy in the path.

``alone``: one process takes, sends, receives and releases; nothing is filled, so this is the work itself.
``paced``: a publisher fills and sends 60 frames a second to three subscribers in processes of their own; the
hand-over runs from the end of filling to the subscriber that has the frame, asleep in between. ``flat out``:
the same as fast as the publisher fills. All lose nothing, or say so in ``lost``.
"""

import json
import subprocess
import sys
import time
from statistics import median, quantiles
from time import monotonic_ns, perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.transport import Transport

TITLE = "Handing over a frame, filling excluded"
FIGURE = "hand_over_us"
FURTHER_FIGURES = ("p90_us", "frames_per_s", "fill_ms", "lost")
NEEDS = ("numpy",)
SHAPES = {"480p": (480, 640, 3), "1080p": (1080, 1920, 3), "4K": (2160, 3840, 3)}
SUBSCRIBERS = 3
BUFFERS = 8
RATE = 60
BURST = 100
LEAST_S = 1.0


def cases(quick: bool) -> list[Case]:
    modes = ("alone", "paced") if quick else ("alone", "paced", "flat out")
    return [
        Case("frames", "slipring-lossy", {"mode": mode, "frame": size}) for mode in modes for size in SHAPES
    ]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    import slipring

    shape = SHAPES[case.settings["frame"]]
    with slipring.Bus("bench", root=place) as bus:
        frames = bus.frames("cam", shape=shape, dtype="u1", buffers=BUFFERS)
        if case.settings["mode"] == "alone":
            return alone(frames, seconds)
        return together(frames, place, max(seconds, LEAST_S), case.settings["mode"] == "paced")


def alone(frames, seconds: float) -> dict[str, float]:
    publisher, subscriber = frames.publisher(), frames.subscriber()
    costs: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = perf_counter_ns()
        for _ in range(BURST):
            with publisher.frame() as array:
                array[0, 0, 0] = 1
            with subscriber.recv(0) as frame:
                _ = frame.array[0, 0, 0]
        costs.append((perf_counter_ns() - begun) / BURST / 1000)
    return figures(costs[len(costs) // 10 :], 1e6 / median(costs), 0.0, subscriber.lost)


def figures(costs_us: list[float], rate: float, fill_ms: float, lost: int) -> dict[str, float]:
    p90 = quantiles(costs_us, n=10)[-1] if len(costs_us) > 1 else costs_us[0]
    return {
        FIGURE: median(costs_us),
        "p90_us": p90,
        "frames_per_s": rate,
        "fill_ms": fill_ms,
        "lost": float(lost),
    }


def together(frames, place, seconds: float, paced: bool) -> dict[str, float]:
    import slipring

    publisher = frames.publisher()
    command = [sys.executable, "-P", __file__, str(place)]  # by path: the checkout is not importable
    children = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(SUBSCRIBERS)]
    while not publisher.wait_for_subscribers(SUBSCRIBERS, 0.2):
        if failed := [child.returncode for child in children if child.poll() is not None]:
            raise RuntimeError(f"a subscriber's process ended with exit code {failed[0]} before it attached")
    fills: list[float] = []
    begun = due = time.monotonic()
    while time.monotonic() < begun + seconds:
        filling = publisher.frame()
        try:
            with filling as array:
                start = perf_counter_ns()
                array[:] = len(fills) % 251
                fills.append((perf_counter_ns() - start) / 1e6)
                filling.meta = monotonic_ns()
        except slipring.Full:
            time.sleep(0.0005)
        if paced:
            due += 1 / RATE
            time.sleep(max(0.0, due - time.monotonic()))
    with publisher.frame(meta="end"):
        pass
    told = [json.loads(child.communicate(timeout=60)[0]) for child in children]
    costs = [cost for each in told for cost in each["costs_us"]]
    slowest = min(each["rate"] for each in told)
    return figures(costs, slowest, median(fills), max(each["lost"] for each in told))


def subscribe(place: str) -> None:
    """The process of a subscriber: read two pixels of every frame, and print the time from each send to its receipt."""
    import slipring

    costs: list[float] = []
    first = last = 0
    with slipring.Bus("bench", root=place) as bus:
        subscriber = bus.frames("cam").subscriber()
        while True:
            with subscriber.recv(60) as frame:
                now = monotonic_ns()
                if frame is None or frame.meta == "end":
                    break
                assert frame.array[0, 0, 0] == frame.array[-1, -1, -1] == frame.id % 251
                costs.append((now - frame.meta) / 1000)
                first, last = first or now, now
        rate = (len(costs) - 1) / max(last - first, 1) * 1e9
        print(json.dumps({"costs_us": costs[len(costs) // 10 :], "rate": rate, "lost": subscriber.lost}))


if __name__ == "__main__":
    subscribe(sys.argv[1])
