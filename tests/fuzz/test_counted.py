# SPDX-License-Identifier: Apache-2.0
"""The runner of counted runs reports each failure of a reader with its input. A seed repeats a run."""

import ctypes
import random
import signal

import pytest

from fuzz import counted, running
from fuzz.counted import BLOCK, Counted

BAD = b"bad"


def seeds() -> list[bytes]:
    return [b"good"] * 5


def mutate(dice: random.Random, data: bytes) -> bytes:
    return BAD if dice.random() < 0.002 else dice.randbytes(4)


def _target(fail, use_many=lambda inputs: None) -> Counted:
    return Counted("planted", 1, seeds, mutate, lambda data: fail() if data == BAD else None, use_many)


def _raise():
    raise KeyError("planted")


def _hang():
    while True:
        pass


def _hang_in_c():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    _hang()


def _many(inputs: list[bytes]) -> None:
    if BAD in inputs:
        _raise()


KEPT: list[bytes] = []
right = _target(lambda: None)
raises = _target(_raise)
crashes = _target(lambda: ctypes.string_at(0))
hangs = _target(_hang)
hangs_in_c = _target(_hang_in_c)
claims_memory = _target(lambda: bytes(counted.MOST_GROWTH * 2))
raises_together = _target(lambda: None, _many)
leaks = Counted("planted", 1, seeds, mutate, lambda data: KEPT.append(b"x" * (1 << 20)))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(counted, "FOUND", tmp_path)
    return tmp_path


def run(name: str, runs: int = 60 * BLOCK, seed: int = 1) -> running.Outcome:
    return counted.run(f"fuzz.test_counted:{name}", runs=runs, seed=seed, hang_s=2)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("raises", "KeyError: 'planted'"),
        ("crashes", "Segmentation fault"),
        ("hangs", "TimeoutError"),
        ("hangs_in_c", "exit code -6"),
        ("claims_memory", "MemoryError"),
        ("raises_together", "KeyError: 'planted'"),
    ],
)
def test_a_failure_is_reported_with_its_input(elsewhere, name, text):
    outcome = run(name)
    assert text in outcome.failure
    assert repr(BAD) in outcome.failure and "seed 1" in outcome.failure
    [stored] = elsewhere.iterdir()
    assert stored.name.startswith(name) and stored.read_bytes() == BAD


def test_memory_that_is_kept_is_reported():
    assert "MemoryError: the process has grown" in run("leaks", runs=6 * BLOCK).failure


def test_a_reader_without_failure_gets_the_seeds_and_so_many_inputs():
    outcome = run("right", runs=1000)
    assert not outcome.failure and 1000 <= outcome.executions < 1000 + BLOCK


def test_a_run_is_repeated_by_its_seed():
    one, same, other = (run("raises", seed=seed).executions for seed in (3, 3, 4))
    assert one == same != other


def test_the_shares_of_all_targets_are_one():
    assert sum(counted.share(name) for name in counted.targets()) == pytest.approx(1)
