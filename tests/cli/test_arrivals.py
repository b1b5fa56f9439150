# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of hz."""

import math
import random
import statistics
from itertools import accumulate
from types import SimpleNamespace

import pytest

from slipring.cli.terminal.intervals import Arrivals


def messages(gaps_ns, first_seq=0):
    stamps = accumulate([0, *gaps_ns])
    return [
        SimpleNamespace(seq=seq, time_ns=stamp, body=b"1234") for seq, stamp in enumerate(stamps, first_seq)
    ]


@pytest.mark.parametrize("count", [501, 100_001])
def test_quantiles_are_right_to_one_per_cent_and_extremes_exact(count):
    chosen = random.Random(3)
    gaps = [int(10 ** chosen.uniform(1, 10)) for _ in range(count)]
    arrivals = Arrivals()
    arrivals.add(messages(gaps), None)
    summary = arrivals.summary()
    assert summary["gap_min_s"] == min(gaps) / 1e9 and summary["gap_max_s"] == max(gaps) / 1e9
    assert summary["gap_median_s"] == pytest.approx(statistics.median(gaps) / 1e9, rel=0.01)
    assert summary["gap_p99_s"] == pytest.approx(sorted(gaps)[math.ceil(count * 0.99) - 1] / 1e9, rel=0.01)
    assert len(arrivals._gaps) < 20_000


def test_windows_add_up_to_their_total():
    whole, total = Arrivals(), Arrivals()
    everything = list(messages([5, 0, 7_000, 1_000_000, 1, 20, 300]))
    whole.add(everything, None)
    last = None
    for start in range(0, len(everything), 3):
        window = Arrivals()
        last = window.add(everything[start : start + 3], last)
        total.merge(window)
    assert total.summary() == whole.summary()


def test_a_gap_over_lost_messages_and_a_clock_that_steps_back_are_not_gaps():
    arrivals = Arrivals()
    last = arrivals.add(messages([10], first_seq=0), None)
    last = arrivals.add(messages([10], first_seq=9), last)
    assert arrivals.summary()["gap_max_s"] == 10 / 1e9
    arrivals.add([SimpleNamespace(seq=11, time_ns=-5, body=b"")], last)
    assert arrivals.summary()["gap_min_s"] == 0


def test_statistics_of_no_messages_divide_by_nothing():
    assert Arrivals().summary() == {
        "elapsed_s": 0.0,
        "messages": 0,
        "lost": 0,
        "rate_hz": 0.0,
        "bytes_per_s": 0.0,
        "gap_min_s": None,
        "gap_median_s": None,
        "gap_p99_s": None,
        "gap_max_s": None,
    }


def test_lost_messages_count_in_the_rate_and_in_the_bytes():
    arrivals = Arrivals()
    arrivals.add(messages([1]), None)
    arrivals.lost, arrivals.elapsed_s = 8, 2.0
    assert (arrivals.summary()["rate_hz"], arrivals.summary()["bytes_per_s"]) == (5.0, 20.0)
