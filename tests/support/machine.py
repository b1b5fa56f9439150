# SPDX-License-Identifier: Apache-2.0
"""The state machine of tests/properties: bus, topics and publishers. The test adds the subscribers."""

from itertools import count

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import slipring
from support.model import ABANDONED, COMMITTED, OPEN, Entry, ReaderModel, TopicModel

TYPES = ["", "a", "b.long"]
SENDERS = ["", "ann", "bob"]
GEOMETRIES = [  # name, capacity, slots, reliable
    ("lossy", 4096, 16, False),
    ("wide", 4096, 256, False),
    ("reliable", 8192, 16, True),
]
sizes = st.one_of(st.integers(0, 40), st.integers(0, 40), st.integers(0, 4200))
pick = st.integers(0, 1 << 20)
numbers = count()


def body_of(size: int, stamp: int) -> bytes:
    return bytes([stamp % 251]) * size


class PublishingMachine(RuleBasedStateMachine):
    backend = None  # of tests/conformance/backends.py

    def __init__(self) -> None:
        super().__init__()
        self.name = f"b{next(numbers)}"
        self.bus = self.backend.open(self.name)
        self.topics = [TopicModel(*geometry) for geometry in GEOMETRIES]
        for topic in self.topics:
            self._make(topic)
        self.age = 0
        self.pubs: list = []  # (publisher, topic)
        self.loans: list = []  # (loan, view, entry, publisher)
        self.views: list = []  # (view, body, bytes, reader)

    def teardown(self) -> None:
        self._close_everything()
        self.bus.close()
        self.backend.forget(self.bus)

    def _make(self, topic: TopicModel) -> None:
        topic.__init__(topic.name, topic.capacity, topic.slots, topic.reliable)
        delivery = "reliable" if topic.reliable else "lossy"
        self.bus.create(
            topic.name, capacity=topic.capacity, slots=topic.slots, delivery=delivery, exist_ok=False
        )

    def _end_loans_and_views(self) -> None:
        while self.loans:
            self.end_loan(0, commit=False)
        while self.views:
            self.end_view(0)

    def _close_everything(self) -> None:
        self._end_loans_and_views()
        for topic in self.topics:
            topic.readers.clear()
        self.pubs.clear()

    def readers(self) -> list[ReaderModel]:
        return [reader for topic in self.topics for reader in topic.readers]

    def free_readers(self) -> list[ReaderModel]:
        return [reader for reader in self.readers() if reader.viewed is None]

    @precondition(lambda self: len(self.pubs) < 4)
    @rule(which=pick, sender=st.sampled_from(SENDERS))
    def open_publisher(self, which, sender):
        topic = self.topics[which % len(self.topics)]
        self.pubs.append((self.bus.publisher(topic.name, sender=sender), topic))

    @precondition(lambda self: self.pubs and self.age % 8 == 0)
    @rule(which=pick)
    def close_publisher(self, which):
        pub, _ = self.pubs[which % len(self.pubs)]
        if not any(owner is pub for *_, owner in self.loans):
            self.pubs = [entry for entry in self.pubs if entry[0] is not pub]
            pub.close()

    @precondition(lambda self: self.pubs)
    @rule(which=pick, size=sizes, kind=st.sampled_from(TYPES))
    def send(self, which, size, kind):
        pub, topic = self.pubs[which % len(self.pubs)]
        body = body_of(size, topic.tail)
        entry = Entry(body, kind, pub.sender)
        expected = topic.tail
        try:
            seq = pub.send(body, type=kind, timeout=0)
        except slipring.TooLarge:
            assert entry.reserved > topic.capacity
        except slipring.Full:
            self._refused(topic, entry)
        else:
            assert topic.fits(entry), "accepted over something held"
            assert seq == expected
            topic.log.append(entry)

    @precondition(lambda self: self.pubs)
    @rule(which=pick, n=st.integers(0, 40), size=sizes, kind=st.sampled_from(TYPES))
    def send_many(self, which, n, size, kind):
        pub, topic = self.pubs[which % len(self.pubs)]
        several = [body_of(size // (1 + number % 3), topic.tail + number) for number in range(n)]
        entries = [Entry(body, kind, pub.sender) for body in several]
        try:
            last = pub.send_many(several, type=kind, timeout=0)
        except slipring.TooLarge:
            assert any(entry.reserved > topic.capacity for entry in entries)
            return
        except slipring.Full:
            last = self.bus.stats(topic.name)["tail"] - 1
            refused = entries[last + 1 - topic.tail]
        else:
            refused = None
            assert last == (topic.tail + len(entries) - 1 if entries else None)
        for entry in entries[: (topic.tail - 1 if last is None else last) + 1 - topic.tail]:
            assert topic.fits(entry), "accepted over something held"
            topic.log.append(entry)
        if refused:
            self._refused(topic, refused)

    def _refused(self, topic: TopicModel, entry: Entry) -> None:
        assert not topic.fits(entry, looked=False), "refused although there is room"
        topic.refused(entry)

    @precondition(lambda self: self.pubs and len(self.loans) < 3)
    @rule(which=pick, size=sizes, kind=st.sampled_from(TYPES))
    def open_loan(self, which, size, kind):
        pub, topic = self.pubs[which % len(self.pubs)]
        body = body_of(size, topic.tail)
        entry = Entry(body, kind, pub.sender, OPEN)
        loan = pub.loan(len(body), type=kind, timeout=0)
        try:
            view = loan.__enter__()
        except slipring.TooLarge:
            assert entry.reserved > topic.capacity
        except slipring.Full:
            self._refused(topic, entry)
        else:
            view[:] = body
            topic.log.append(entry)
            self.loans.append((loan, view, entry, pub))

    @precondition(lambda self: self.loans)
    @rule(which=pick, commit=st.booleans())
    def end_loan(self, which, commit):
        loan, _, entry, _ = self.loans.pop(which % len(self.loans))
        entry.state = COMMITTED if commit else ABANDONED
        loan.__exit__(*((None, None, None) if commit else (KeyError, KeyError(), None)))
