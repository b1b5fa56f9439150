# SPDX-License-Identifier: Apache-2.0
"""Accounts for every element, frame and call of a storm from the journals of all who took part."""

from itertools import pairwise

from crash import bodies
from crash import journal as jn
from crash.company import Part


def records(part: Part) -> list[tuple[int, list[tuple]]]:
    """Incarnation and journal of each life."""
    return [(incarnation, jn.read(path) if path.exists() else []) for incarnation, _, path in part.lives]


def sent_by(part: Part) -> dict[tuple[int, int], int]:
    """(incarnation, counter) -> sequence"""
    return {
        (incarnation, counter): seq
        for incarnation, journal in records(part)
        for kind, counter, seq, *_ in journal
        if kind == jn.SENT
    }


def whole(part: Part, rows: list[tuple]) -> None:
    for _, seq, incarnation, counter, _ in rows:
        what = f"{part.name}: {seq}, counter {counter}"
        assert incarnation != bodies.TORN, f"{what} arrived torn"
        assert incarnation != bodies.CHANGED, f"{what} changed while it was held"
        assert not incarnation & bodies.POISON, f"{what} was seen though never put"


def rising(part: Part, values: list[int]) -> None:
    assert all(a < b for a, b in pairwise(values)), f"{part.name} went back, or saw something twice"


def cells(writer: Part, reader: Part, stats: dict) -> int:
    """Each element at most once over all lives of the reader, in order, whole; the counters add up."""
    sent = sent_by(writer)
    rows = [row for _, journal in records(reader) for row in journal if row[0] == jn.GOT]
    whole(reader, rows)
    lives = {incarnation for incarnation, *_ in writer.lives}
    assert {row[2] for row in rows} <= lives, "an element of nobody"
    rising(reader, [(row[2], row[3]) for row in rows])  # incarnations follow each other
    known = [sent.get((row[2], row[3])) for row in rows]
    rising(reader, [seq for seq in known if seq is not None])
    for row, seq in zip(rows, known, strict=True):
        assert seq is None or row[1] in (jn.UNKNOWN, seq), f"{row} was put as {seq}"
    assert stats["received"] + stats["lost"] + stats["skipped"] == stats["position"] == stats["puts"], stats
    assert len(sent) <= stats["puts"] <= len(sent) + len(writer.lives), stats
    assert len(rows) <= stats["received"] <= len(rows) + len(reader.lives) * stats["depth"], stats
    return len(rows)


def frames(writer: Part, readers: list[Part], total: int) -> int:
    """One truth for all readers, whole, rising; the account of whoever read from beginning to end is exact."""
    sent, truth, count = {seq: who for who, seq in sent_by(writer).items()}, {}, 0
    assert len(sent) == len(sent_by(writer)), "two frames with one number"
    truth.update(sent)
    for reader in readers:
        for _, journal in records(reader):
            rows = [row for row in journal if row[0] == jn.GOT]
            whole(reader, rows)
            rising(reader, [row[1] for row in rows])
            count += len(rows)
            for _, seq, incarnation, counter, _ in rows:
                assert truth.setdefault(seq, (incarnation, counter)) == (incarnation, counter), f"frame {seq}"
            ends = [row for row in journal if row[0] == jn.END]
            if ends and not reader.mortal:
                assert ends[0][1] == len(rows)
                assert ends[0][1] + ends[0][2] == total, f"{reader.name}: {ends[0]} of {total}"
    assert max(truth, default=-1) < total <= len(sent) + len(writer.lives)
    return count


def calls(server: Part, clients: list[Part]) -> tuple[int, int]:
    """Answers are right; a call was carried out once if it was answered, else at most once. Answered, given up."""
    done: dict[tuple[int, int], int] = {}
    for _, journal in records(server):
        for kind, number, incarnation, *_ in journal:
            if kind == jn.GOT:
                done[incarnation, number] = done.get((incarnation, number), 0) + 1
    twice = [call for call, times in done.items() if times > 1]
    assert not twice, f"carried out twice: {twice[:5]}"
    answered = gone = 0
    for client in clients:
        for incarnation, journal in records(client):
            for kind, number, wrong, *_ in journal:
                answered += kind == jn.SENT
                gone += kind == jn.MAYBE
                assert kind != jn.SENT or not wrong, f"{client.name}: call {number} was answered wrongly"
                assert kind != jn.SENT or (incarnation, number) in done, f"{client.name}: answered by nobody"
                assert kind != jn.MAYBE or server.mortal, (
                    f"{client.name}: {number} given up, the server lives"
                )
    return answered, gone
