# SPDX-License-Identifier: Apache-2.0
"""Batches of bodies of one size and of many, with and without names, over small rings: sent together, read together."""

import random

import pytest

import slipring

SIZES = ([64], [64, 64, 63, 57], [0], [8], [0, 8], [1, 64, 200], [300], list(range(100)))


@pytest.mark.parametrize("seed", range(24))
def test_whatever_is_sent_in_batches_is_read_in_batches(bus, seed):
    chance = random.Random(seed)
    rings = {"capacity": chance.choice([4096, 65536]), "slots": chance.choice([16, 64, 256])}
    sender = chance.choice(["", "abc", "abcdefgh", "x" * 20])
    publisher = bus.publisher(
        "t", sender=sender, delivery="reliable", writers=chance.choice(["one", "many"]), **rings
    )
    subscriber = bus.subscriber("t")
    sent, got = [], []
    for _ in range(100):
        kind = chance.choice(["", "t.v1"])
        sizes = chance.choice(SIZES)
        bodies = [
            bytes([chance.randrange(256)]) * chance.choice(sizes) for _ in range(chance.randrange(1, 40))
        ]
        sent += [(body, kind, sender) for body in bodies]
        while bodies:
            before = bus.stats("t")["published"]
            try:
                publisher.send_many(bodies, type=kind, timeout=0)
            except slipring.Full:
                got += subscriber.recv_batch(chance.choice([1, 7, 1000])).to_pylist()
            del bodies[: bus.stats("t")["published"] - before]
    while (batch := subscriber.recv_batch(1000)).num_rows:
        got += batch.to_pylist()
    assert [(row["value"], row["type"], row["sender"]) for row in got] == sent
    assert [row["offset"] for row in got] == list(range(len(sent)))
