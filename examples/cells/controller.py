# SPDX-License-Identifier: Apache-2.0
"""A display that sees the newest pose, whatever happens to the controller that writes it."""

import os
import signal

import slipring

POSE = [("number", "u8"), ("xyz", "f8", (3,))]


def control(cells: slipring.Cells, puts: int, die: bool) -> None:
    writer = cells.writer()
    for _ in range(puts):
        number = cells.stats()["puts"]
        with writer.slot() as pose:
            pose["number"] = number
            pose["xyz"] = number
    if die:
        with writer.slot() as pose:
            pose["xyz"] = -1  # half-written: nobody will ever see it
            os.kill(os.getpid(), signal.SIGKILL)


def in_a_process(cells: slipring.Cells, puts: int, die: bool = False) -> None:
    pid = os.fork()
    if pid == 0:
        control(cells, puts, die)
        os._exit(0)
    os.waitpid(pid, 0)


def main() -> None:
    bus = slipring.Bus("cells-example")
    cells = bus.cells("pose", dtype=POSE, depth=5)
    display = cells.reader()

    in_a_process(cells, 1005)
    poses = display.snapshot()
    print(f"display: {len(poses)} poses, the newest is number {poses[-1]['number']}")
    in_a_process(cells, 1, die=True)
    print(f"display: lost {display.lost}, and {cells.stats()['lag']} is new since")

    print("controller killed in the middle of a put")
    pose = display.latest()
    assert (pose["xyz"] == pose["number"]).all()
    print(f"display: number {pose['number']}, whole")
    print(f"next controller continues with number {cells.stats()['puts']}")
    in_a_process(cells, 1)
    print(f"display: number {display.latest()['number']}, whole", flush=True)
    bus.remove("pose")


main()
