# SPDX-License-Identifier: Apache-2.0
"""The same program with the same seed has the same trace in every process."""

import gc
import os
import subprocess
import sys
from pathlib import Path

from stepped import robot

PROGRAM = Path(robot.__file__)


def in_a_process(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, str(PROGRAM), str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_hundred_runs_with_one_seed_have_equal_traces():
    first = robot.run(7)
    assert len(first) > 300
    for number in range(99):
        if number % 10 == 0:
            gc.collect()
        assert robot.run(7) == first


def test_runs_in_other_processes_have_equal_traces_whatever_the_hash_seed():
    here = "\n".join(robot.run(7)) + "\n"
    for hash_seed in ("0", "1", "4242", "random"):
        assert in_a_process(7, hash_seed) == here


def test_other_seeds_give_other_orders_of_independent_deliveries():
    traces = [tuple(robot.run(seed)) for seed in range(10)]
    assert len(set(traces)) == 10


def test_no_seed_reorders_a_topic_for_one_subscriber():
    for seed in range(10):
        received: dict[tuple[str, str], list[int]] = {}
        for line in robot.run(seed):
            _, event, *rest = line.split()
            if event == "deliver":
                topic, seq, _, subscriber = rest
                received.setdefault((topic, subscriber), []).append(int(seq))
        assert len(received) > 6
        assert all(seqs == sorted(set(seqs)) for seqs in received.values())
