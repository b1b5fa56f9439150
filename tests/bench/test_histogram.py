# SPDX-License-Identifier: Apache-2.0
"""The histogram of times: what it may lose, and what it may not."""

from hypothesis import given
from hypothesis import strategies as st

from slipring.bench.histogram import Histogram, bucket_of, middle_of

TIMES = st.integers(min_value=0, max_value=1 << 50)
MANY = st.lists(TIMES, min_size=1, max_size=200)


@given(TIMES)
def test_a_time_is_kept_to_within_one_percent_and_small_ones_exactly(ns):
    kept = middle_of(bucket_of(ns))
    assert kept == ns if ns < 128 else abs(kept - ns) <= ns / 100


@given(TIMES, TIMES)
def test_buckets_are_in_the_order_of_their_times(one, other):
    assert (bucket_of(one) <= bucket_of(other)) or one > other


def test_no_bucket_is_left_out():
    buckets = sorted({bucket_of(ns) for ns in range(1 << 14)})
    assert buckets == list(range(buckets[-1] + 1))


@given(MANY, st.floats(min_value=0, max_value=1))
def test_a_quantile_is_that_of_the_sorted_times(times, share):
    exact = sorted(times)[min(len(times) - 1, int(len(times) * share))]
    assert Histogram.of(times).quantile_ns(share) == middle_of(bucket_of(exact))


@given(MANY, MANY)
def test_what_two_rounds_saw_adds_up(one, other):
    both = Histogram.of(one) + Histogram.of(other)
    assert both.text() == Histogram.of(one + other).text()


@given(MANY)
def test_text_is_read_back_as_it_was(times):
    text = Histogram.of(times).text()
    assert Histogram.parse(text).text() == text
    assert Histogram.parse(text).counts.total() == len(times)


def test_figures_are_in_microseconds_and_the_maximum_is_the_longest():
    figures = Histogram.of([100] * 98 + [1000, 64000]).figures()
    assert figures["p50_us"] == 0.1
    assert abs(figures["p99_us"] - 64) <= 0.64 and figures["max_us"] == figures["p99_us"]
