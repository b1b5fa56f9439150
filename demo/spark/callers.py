# SPDX-License-Identifier: Apache-2.0
"""A call server and its client, each in a process of its own: `python -m demo.spark.callers CONFIG`, with JSON.

The planner answers. The navigator calls it twenty times a second, sometimes with arguments that raise an error. A call
without an answer times out. SIGTERM ends both.
"""

import json
import math
import signal
import sys
import threading

import slipring
from demo import robot
from storm.fork_server import die_with_parent
from storm.worker import Pace

SERVICE = "planner"
PERIOD_S = 0.05
NO_WAY_EVERY = 25


def route(x: float, y: float) -> dict[str, float]:
    if x == y == 0:
        raise ValueError("the target is the present position")
    return {"distance": math.hypot(x, y), "heading": math.atan2(y, x)}


def serve(bus: slipring.Bus, over: threading.Event) -> None:
    server = bus.server(SERVICE)
    server.method(route)
    server.start()
    over.wait()
    server.close()


def ask(bus: slipring.Bus, over: threading.Event) -> None:
    pace, count = Pace(PERIOD_S), 0
    with bus.client(SERVICE, timeout=5.0) as client:
        while not over.is_set():
            pace.wait()
            count += 1
            try:
                client.call("route", 0 if count % NO_WAY_EVERY == 0 else count, 0)
            except (slipring.RemoteError, slipring.PeerGone, slipring.Timeout):
                continue  # the wanted error; no planner yet; no answer in time


def main() -> None:
    config = json.loads(sys.argv[1])
    die_with_parent(config["parent"])
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    with slipring.Bus(robot.BUS, root=config["root"]) as bus:
        {"serve": serve, "ask": ask}[config["part"]](bus, over)


if __name__ == "__main__":
    main()
