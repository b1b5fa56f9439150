# SPDX-License-Identifier: Apache-2.0
"""Range arithmetic: nothing is missing or duplicated, limits hold, no topic starves."""

from hypothesis import given
from hypothesis import strategies as st

from slipring.spark.source import offset_ranges
from slipring.spark.source.offset_ranges import Range

sizes = st.integers(0, 10**7)


@given(
    st.lists(st.tuples(st.integers(0, 2**40), sizes), max_size=5),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(10**5, 10**9),
)
def test_pieces_cover_the_same_sequences_in_order(ranges, min_partitions, max_records):
    whole = [Range(f"t{at}", at, start, start + size) for at, (start, size) in enumerate(ranges)]
    pieces = offset_ranges.split(whole, min_partitions, max_records)
    for one in whole:
        at = one.start
        for piece in (piece for piece in pieces if piece.topic == one.topic):
            assert piece.start == at and piece.end > at and piece.generation == one.generation
            assert max_records is None or piece.size <= max_records
            at = piece.end
        assert at == one.end
    total = sum(one.size for one in whole)
    assert len(pieces) >= min(min_partitions or 0, total)


def test_pieces_have_similar_sizes_and_follow_the_backlog():
    pieces = offset_ranges.split([Range("a", 1, 0, 900), Range("b", 1, 0, 100)], min_partitions=10)
    assert len(pieces) == 10 and {piece.size for piece in pieces} == {100}


@given(st.integers(1, 10**6), st.dictionaries(st.sampled_from("abcdefg"), sizes))
def test_rows_are_shared_by_backlog_and_no_topic_starves(limit, backlogs):
    shares = offset_ranges.share_rows(limit, backlogs)
    for topic, backlog in backlogs.items():
        assert (shares.get(topic, 0) > 0) == (backlog > 0)
        assert shares.get(topic, 0) <= max(backlog, 0)
    assert sum(shares.values()) <= max(limit, len(shares))


@given(
    st.integers(1, 10**6),
    st.dictionaries(
        st.sampled_from("abcd"), st.lists(st.integers(0, 10**5), min_size=1, max_size=30), min_size=1
    ),
)
def test_bytes_are_shared_and_each_topic_gets_a_message(limit, bodies):
    def end_of(topic, size):
        """Like RangeReader.settled_end: at least one message, and no more than fits."""
        end, used = 1, bodies[topic][0]
        while end < len(bodies[topic]) and used + bodies[topic][end] <= size:
            used += bodies[topic][end]
            end += 1
        return end

    wanted = {topic: len(messages) for topic, messages in bodies.items()}
    ends = offset_ranges.share_bytes(limit, wanted, end_of)
    assert ends.keys() == wanted.keys()
    assert all(1 <= ends[topic] <= wanted[topic] for topic in ends)
    used = sum(sum(bodies[topic][: ends[topic]]) for topic in ends)
    allowed = sum(bodies[topic][0] for topic in ends)  # at least one message
    assert used <= limit + allowed
    if sum(map(sum, bodies.values())) <= limit // len(bodies):
        assert ends == wanted


def test_unused_shares_of_small_topics_go_to_the_others():
    bodies = {"small": 10, "large": 100_000}

    def end_of(topic, size):
        return max(1, min(bodies[topic], size))

    ends = offset_ranges.share_bytes(10_000, bodies, end_of)
    assert ends["small"] == 10 and ends["large"] > 9_000
