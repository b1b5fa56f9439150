# SPDX-License-Identifier: Apache-2.0
"""Processes in C, Java and Python are killed at random instants; the accounts of the others are exact."""

import os
import random
import time
from collections import defaultdict

import pytest

from foreign.peers import Account, message

KILLS = int(os.environ.get("SLIPRING_FOREIGN_KILLS", "60"))
SEED = int(os.environ.get("SLIPRING_FOREIGN_SEED", "0")) or random.randrange(1, 1 << 30)
LARGEST = 100
LANGUAGES = ["c", "java", "java+futex", "python"]
LONGEST_LIFE_S = {"c": 0.03, "java": 0.4, "java+futex": 0.4, "python": 0.3}  # from start to kill


class Witness:
    """Read everything in the test process. Check the numbers and bodies of each sender."""

    def __init__(self, sub) -> None:
        self.sub, self.account, self.next = sub, Account(), defaultdict(int)

    def read(self) -> None:
        while not self.account.ended:
            for msg in self.sub.recv_many(256, timeout=60):
                self.account.add(msg)
                if msg.type != "end":
                    number = self.next[msg.sender]
                    assert (msg.type, msg.body) == message(number, LARGEST), (SEED, msg.sender, number)
                    self.next[msg.sender] = number + 1


class Victims:
    def __init__(self, peers, dice: random.Random) -> None:
        self._peers, self._dice = peers, dice
        self._living: dict[tuple[str, str], tuple] = {}
        self._born = 0
        self.acknowledged: dict[str, int] = {}

    def start(self, language: str, role: str) -> None:
        self._born += 1
        sender = f"{language}-{self._born}"
        if role == "publish":
            peer = self._peers.publish(language, sender, 10**9, LARGEST, every=64)
            peer.say("go")
        else:
            peer = self._peers.subscribe(language, role, self._dice.choice(["new", "oldest"]))
        self._living[language, role] = (sender, peer)

    def kill(self, language: str, role: str) -> None:
        sender, peer = self._living.pop((language, role))
        assert peer.alive, f"seed {SEED}: {sender} ended by itself: {peer.join(None)} {peer.stderr}"
        peer.kill()
        lines = peer.heard_before_its_end()
        if role == "publish":
            self.acknowledged[sender] = max([0, *(line[1] for line in lines if line[0] == "sent")])
        peer.discard()

    def kill_all(self) -> None:
        for place in list(self._living):
            self.kill(*place)


def storm(bus, peers, delivery: str) -> tuple:
    dice = random.Random(SEED)
    kind = delivery
    survivors = [peers.subscribe(language, kind) for language in ("c", "java+futex")]
    for survivor in survivors:
        survivor.expect(("ready", 0))
    victims = Victims(peers, dice)
    places = [(language, role) for language in LANGUAGES for role in ("publish", kind, "lossy")]
    for place in dict.fromkeys(places):
        victims.start(*place)
    for _ in range(KILLS):
        place = dice.choice(places)
        time.sleep(dice.random() * LONGEST_LIFE_S[place[0]] / 2)
        victims.kill(*place)
        victims.start(*place)
    victims.kill_all()
    with bus.publisher("t") as pub:
        pub.send(b"", type="end", timeout=60)
    heard = [survivor.hear() for survivor in survivors]
    for survivor in survivors:
        survivor.join()
    return victims.acknowledged, heard


@pytest.mark.timeout(max(240, KILLS))
def test_kills_in_all_languages_lose_nothing_on_a_reliable_topic(bus, peers, background):
    bus.create("t", capacity=8192, slots=64, delivery="reliable")
    with bus.subscriber("t") as sub:
        witness = Witness(sub)
        reading = background(witness.read)
        acknowledged, heard = storm(bus, peers, "reliable")
        reading.result()
        position = sub.position
    stats = bus.stats("t")
    account = witness.account
    assert heard == [("end", account.received, 0, position, account.sum)] * len(heard), f"seed {SEED}"
    assert position == stats["tail"] == account.received + stats["abandoned"], f"seed {SEED}"
    for sender, count in acknowledged.items():
        assert witness.next[sender] >= count, f"seed {SEED}: {sender} sent {count}"


@pytest.mark.timeout(max(240, KILLS))
def test_kills_in_all_languages_leave_only_counted_losses_on_a_lossy_topic(bus, peers):
    bus.create("t", capacity=8192, slots=64)
    _, heard = storm(bus, peers, "lossy")
    stats = bus.stats("t")
    for _, received, lost, position, _ in heard:
        assert position == stats["tail"], f"seed {SEED}"
        assert received + lost + stats["abandoned"] == position, f"seed {SEED}"
