# SPDX-License-Identifier: Apache-2.0
"""Account for every element, frame and call of a storm from all journals. A failed check raises."""

from itertools import pairwise
from typing import Any

import numpy

from storm.audit import Life
from storm.bodies import POISON
from storm.journal import CHANGED, UNKNOWN, Kind

Lives = list[Life]  # of one role


def _sent_by(writers: Lives) -> dict[int, int]:
    """Return the sequence by identity."""
    return {int(row["b"]): int(row["a"]) for life in writers for row in life.of(Kind.SENT)}


def _whole(life: Life) -> Any:
    """Return the receptions of a process. Raise if one is corrupt."""
    for row in life.of(Kind.CORRUPT):
        how = "changed while it was held" if row["c"] == CHANGED else "arrived torn"
        raise AssertionError(f"{life}: {row['a']} {how}")
    rows = life.of(Kind.RECEIVED)
    assert not (rows["b"] & numpy.uint64(POISON)).any(), f"{life} saw what was never committed"
    return rows


def _rising(life: Life, values: list[int]) -> None:
    wrong = [(a, b) for a, b in pairwise(values) if a >= b]
    assert not wrong, f"{life} went back or received twice: {wrong[:3]}"


def cells(writers: Lives, readers: Lives, stats: dict) -> int:
    """Check that readers got each element at most once, in order and whole, and that the counters add up."""
    sent = _sent_by(writers)
    rows = [(int(row["a"]), int(row["b"])) for life in readers for row in _whole(life)]
    if rows:
        numbers = {life.life for life in writers}
        assert {who >> 32 for _, who in rows} <= numbers, "an element of nobody"
        _rising(readers[-1], [who for _, who in rows])  # one process after the other
        _rising(readers[-1], [sent[who] for _, who in rows if who in sent])
    for seq, who in rows:
        assert who not in sent or seq in (UNKNOWN, sent[who]), f"{seq}, {who:#x} was put as {sent[who]}"
    assert stats["received"] + stats["lost"] + stats["skipped"] == stats["position"] == stats["puts"], stats
    assert len(sent) <= stats["puts"] <= len(sent) + len(writers), stats
    assert len(rows) <= stats["received"] <= len(rows) + len(readers) * stats["depth"], stats
    return len(rows)


def frames(writers: Lives, readers: Lives, mortal: set[str], total: int) -> int:
    """Check that all readers got the same frames, whole and in order, and that complete accounts are exact."""
    sent = _sent_by(writers)
    truth, count = {seq: who for who, seq in sent.items()}, 0
    assert len(truth) == len(sent), "two frames with one number"
    for life in readers:
        rows = [(int(row["a"]), int(row["b"])) for row in _whole(life)]
        _rising(life, [seq for seq, _ in rows])
        count += len(rows)
        for seq, who in rows:
            assert truth.setdefault(seq, who) == who, f"frame {seq} is another to {life}"
        for account in life.of(Kind.COUNTED):
            if life.name not in mortal:
                assert account["b"] == len(rows), f"{life}: {account} of {len(rows)} frames"
                assert account["b"] + account["c"] == total, f"{life}: {account} of {total}"
    assert max(truth, default=-1) < total <= len(sent) + len(writers)
    return count


def calls(servers: Lives, clients: Lives, server_is_mortal: bool) -> tuple[int, int]:
    """Check answers and that a call ran at most once. Return the numbers of answered and of failed calls."""
    handled = [int(row["b"]) for life in servers for row in life.of(Kind.HANDLED)]
    done = set(handled)
    assert len(done) == len(handled), "a call was carried out twice"
    answered = gone = 0
    for life in clients:
        wrong = life.of(Kind.CORRUPT)["b"]
        assert not len(wrong), f"{life}: call {wrong[0]:#x} was answered wrongly"
        right = set(life.of(Kind.SENT)["b"].tolist())
        assert right <= done, f"{life}: answered by nobody: {sorted(right - done)[:3]}"
        assert server_is_mortal or not life.count(Kind.REFUSED), f"{life}: a call given up, the server lives"
        answered, gone = answered + len(right), gone + life.count(Kind.REFUSED)
    return answered, gone
