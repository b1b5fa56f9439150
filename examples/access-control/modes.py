# SPDX-License-Identifier: Apache-2.0
"""What a topic's mode means, file by file."""

import os
import stat

import slipring

MEANING = {
    0o600: "nobody but the owner",
    0o640: "the group may subscribe",
    0o660: "the group may publish",
    0o644: "everybody may subscribe",
}

with slipring.Bus("house") as bus:
    for mode, meaning in MEANING.items():
        bus.create("door", capacity=4096, mode=mode)
        modes = [
            stat.filemode(os.stat(f"{bus.path}/door.{suffix}").st_mode) for suffix in ("ring", "readers")
        ]
        print(f"mode={mode:#o}  ring {modes[0]}  readers {modes[1]}  {meaning}")
        bus.remove("door")
