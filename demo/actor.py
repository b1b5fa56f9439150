# SPDX-License-Identifier: Apache-2.0
"""The main program of every process of the robot: `python -m demo.actor CONFIG`, CONFIG being JSON.

It dies with the show (the kernel sends SIGKILL when the parent is gone) and heeds two orders: SIGUSR1, send
no more; SIGTERM, read what is there, then end.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
from pathlib import Path

import slipring
from demo import cast
from demo.journal import Journal, Kind
from demo.roles.part import Part

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def heed_orders(part: Part) -> None:
    def no_more_sending(*_: object) -> None:
        part.quiet = True

    def to_the_end(*_: object) -> None:
        part.quiet = part.ending = True

    signal.signal(signal.SIGUSR1, no_more_sending)
    signal.signal(signal.SIGTERM, to_the_end)
    part.journal.write(Kind.HELLO)


def main() -> None:
    config = json.loads(sys.argv[1])
    die_with_parent(config["parent"])
    journal = Journal(Path(config["journal"]))
    seat = cast.SEATS[config["seat"]]
    with slipring.Bus(cast.BUS, root=config["root"]) as bus:
        part = Part(bus, journal, seat, config["incarnation"])
        heed_orders(part)
        importlib.import_module(f"demo.roles.{seat.role}").play(part)
    journal.close()


if __name__ == "__main__":
    main()
