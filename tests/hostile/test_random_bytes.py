# SPDX-License-Identifier: Apache-2.0
"""Random bytes anywhere in a live segment lead to exceptions, never to a signal or a hang (promise 18)."""

import contextlib
import os
import random

import pytest

import slipring
from hostile.damage import random_write
from hostile.participants import RING, ROUND
from hostile.supervisor import MOST_FAILURES, ROLES, Supervisor
from storm.fork_server import ForkServer
from support import core_build

TRIALS = int(os.environ.get("SLIPRING_HOSTILE_TRIALS", "1000"))
SEED = int(os.environ.get("SLIPRING_HOSTILE_SEED", "0")) or random.randrange(1, 1 << 32)
KINDS = [("lossy", "many"), ("reliable", "many"), ("lossy", "one"), ("reliable", "one")]


@pytest.fixture(scope="module")
def in_c() -> tuple[str, dict]:
    return ("execute", {"program": str(core_build.program("shipped", "participant"))})


def damage(supervisor: Supervisor, bus_root, trials: int, dice: random.Random, **settings) -> int:
    """Damage one topic after another while the processes use them, and return the number of random writes."""
    folder, paths, made = bus_root / "test", [], 0
    for number in range(1, trials + 1):
        topic = f"t{number}"
        with slipring.Bus("test", root=str(bus_root)) as bus:
            bus.create(topic, **RING, **settings)
        supervisor.board.write(ROUND, number)
        supervisor.expect_calls(3, f"before any damage to {settings}")
        for path in paths:  # of the previous round: no process uses it any more
            path.unlink(missing_ok=True)
        paths = [folder / f"{topic}.ring", folder / f"{topic}.readers"]
        writes = []
        for _ in range(dice.choice((1, 1, 2, 8))):
            with contextlib.suppress(FileNotFoundError):  # the doctor may have removed what it cannot repair
                writes.append(random_write(dice, paths))
                writes[-1].make()
                made += 1
        supervisor.expect_calls(4, f"after (seed {SEED}, {settings}) {'; '.join(map(str, writes))}")
        if len(supervisor.failures) >= MOST_FAILURES:
            break
    return made


@pytest.mark.foreign_files
@pytest.mark.timeout(600 + TRIALS)
@pytest.mark.parametrize(("delivery", "writers"), KINDS)
def test_random_bytes_in_a_live_segment_raise_errors_and_never_kill_or_hang(
    bus_root, tmp_path, in_c, capsys, delivery, writers
):
    roles = [*ROLES, in_c] if writers == "many" else [ROLES[1], *ROLES[2:5], ROLES[6], in_c]
    if (delivery, writers) == ("reliable", "many"):
        roles = [*roles, ("repair", {})]
    with ForkServer(preload=["hostile.participants"]) as server:
        supervisor = Supervisor(server, bus_root, tmp_path / "board", roles)
        dice = random.Random(f"{SEED} {delivery} {writers}")
        trials = TRIALS // len(KINDS)
        made = damage(supervisor, bus_root, trials, dice, delivery=delivery, writers=writers)
        supervisor.close()
    with capsys.disabled():
        what = f"{trials} trials, {made} random writes, {len(roles)} live processes"
        print(f"\n{delivery}, {writers} writers: {what}, {len(supervisor.failures)} signals or hangs")
    assert not supervisor.failures, "\n\n".join(supervisor.failures)
