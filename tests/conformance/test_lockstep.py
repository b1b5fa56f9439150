# SPDX-License-Identifier: Apache-2.0
"""The best proof that the stepped bus is the bus: the same random calls on both, and every outcome compared.

Values, errors and the arguments they name, accounts, tables: all equal after every call. Only the moment of
reclaiming is left open by the documents. So the lossy topic is too large to be lapped, and "oldest" on a
small one means the oldest that both still have. Lapping is compared with the model in tests/properties, for
both.
"""

import os
from itertools import count

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import slipring
from conformance.backends import BACKENDS
from conformance.sides import Side, account, outcome, topic_facts

# With a planted defect it matters only that a call differs; the shortest way there takes minutes.
SHRINK = [] if os.environ.get("SLIPRING_SHRINK") == "0" else [Phase.shrink]
TOPICS = {
    "lossy": {"capacity": "4MiB", "slots": 1 << 15},
    "reliable": {"capacity": 8192, "slots": 16, "delivery": "reliable"},
    "one": {"capacity": 4096, "slots": 16, "delivery": "reliable", "writers": "one", "max_readers": 3},
}
topics = st.sampled_from([*TOPICS, *TOPICS, "missing"])
types = st.sampled_from(["", "a", "b", "x" * 256])
senders = st.sampled_from(["", "ann", "bob"])
sizes = st.one_of(st.integers(0, 40), st.integers(0, 40), st.integers(0, 9000))
pick = st.integers(0, 1 << 20)
places = st.one_of(st.sampled_from(["new", "last", "oldest", "never", 1.5]), st.integers(-1, 40))
filters = st.sampled_from([{}, {}, {"types": ["a"]}, {"ignore_types": ["a"]}, {"ignore_senders": ["ann"]}])
cursors = st.sampled_from([None, None, None, "c", "d", "x" * 64])
settings_asked = st.sampled_from(
    [{}, {}, {"slots": 1 << 15}, {"delivery": "lossy"}, {"capacity": -1}, {"size": 1}]
)
ways = st.sampled_from(["recv", "recv_many", "recv_batch", "recv_into", "into a small buffer"])
bad_calls = st.sampled_from(
    [
        lambda side: side.bus.create("a/b"),
        lambda side: side.bus.stats("nowhere"),
        lambda side: side.bus.remove("nowhere"),
        lambda side: side.bus.remove("nowhere", missing_ok=True),
        lambda side: side.bus.create("lossy", exist_ok=False),
        lambda side: side.bus.publisher("lossy", sender=5),
        lambda side: side.bus.subscriber("lossy", lossy=False),
        lambda side: side.bus.subscriber("lossy", types="abc"),
        lambda side: side.bus.subscriber("lossy", expires=1),
        lambda side: side.bus.drop_cursor("lossy", "nobody"),
        lambda side: slipring.wait([]),
        lambda side: slipring.wait([side.bus]),
    ]
)
numbers = count()


def receive(sub, way: str, n: int):
    if way == "recv":
        return sub.recv(timeout=0)
    if way == "recv_into":
        return sub.recv_into(bytearray(9000), timeout=0)
    if way == "into a small buffer":
        return sub.recv_into(bytearray(20), timeout=0)
    return getattr(sub, way)(n, timeout=0)


def keep(handles: list, handle) -> object:
    handles.append(handle)
    return handle


class Lockstep(RuleBasedStateMachine):
    backends = ()

    def __init__(self) -> None:
        super().__init__()
        self.name = f"b{next(numbers)}"
        self.sides = [Side(backend.open(self.name)) for backend in self.backends]
        for topic, given in TOPICS.items():
            self.same(lambda side, topic=topic, given=given: side.bus.create(topic, **given))

    def teardown(self) -> None:
        for side, backend in zip(self.sides, self.backends, strict=True):
            side.close()
            backend.forget(side.bus)

    def same(self, call) -> None:
        outcomes = [outcome(call, side) for side in self.sides]
        assert outcomes[0] == outcomes[1]

    def any(self, name: str, which: int):
        """A function of a side: one of its handles, the same on each."""
        return lambda side: getattr(side, name)[which % len(getattr(side, name))]

    def place(self, topic: str, start):
        """Where both can start: what one has reclaimed and the other not is out of bounds."""
        if topic not in ("reliable", "one") or not (start == "oldest" or isinstance(start, int)):
            return start
        stats = [side.bus.stats(topic) for side in self.sides if topic in side.bus.topics()]
        oldest = max((one["oldest"] for one in stats), default=0)
        return oldest if start == "oldest" or 0 <= start < oldest else start

    def has(self, name: str) -> int:
        lengths = {len(getattr(side, name)) for side in self.sides}
        assert len(lengths) == 1
        return lengths.pop()

    # Handles

    @precondition(lambda self: self.has("pubs") < 4)
    @rule(topic=topics, sender=senders, asked=settings_asked)
    def open_publisher(self, topic, sender, asked):
        self.same(lambda side: keep(side.pubs, side.bus.publisher(topic, sender=sender, **asked)))

    @precondition(lambda self: self.has("subs") < 6)
    @rule(
        topic=topics,
        start=places,
        lossy=st.sampled_from([None, None, True, False]),
        cursor=cursors,
        conflate=st.booleans(),
        chosen=filters,
    )
    def open_subscriber(self, topic, start, lossy, cursor, conflate, chosen):
        given = {
            "start": self.place(topic, start),
            "lossy": lossy,
            "cursor": cursor,
            "conflate": conflate and not cursor,
        }
        self.same(lambda side: keep(side.subs, side.bus.subscriber(topic, **given, **chosen)))

    @precondition(lambda self: self.has("members") < 3)
    @rule(topic=topics, sender=senders, own=st.booleans())
    def join(self, topic, sender, own):
        self.same(lambda side: keep(side.members, side.bus.join(topic, sender=sender, own=own)))

    @precondition(lambda self: self.has("pubs") and not self.has("loans"))
    @rule(which=pick)
    def close_publisher(self, which):
        self.same(lambda side: side.pubs.pop(which % len(side.pubs)).close())

    @precondition(lambda self: self.has("subs") and not self.has("views"))
    @rule(which=pick)
    def close_subscriber(self, which):
        self.same(lambda side: side.subs.pop(which % len(side.subs)).close())

    @precondition(lambda self: self.has("members"))
    @rule(which=pick)
    def leave(self, which):
        self.same(lambda side: side.members.pop(which % len(side.members)).close())

    # Sending

    @precondition(lambda self: self.has("pubs"))
    @rule(which=pick, size=sizes, kind=types)
    def send(self, which, size, kind):
        pub = self.any("pubs", which)
        self.same(lambda side: pub(side).send(bytes(size), type=kind, timeout=0))

    @precondition(lambda self: self.has("pubs"))
    @rule(which=pick, n=st.integers(0, 30), size=sizes, kind=types)
    def send_many(self, which, n, size, kind):
        pub = self.any("pubs", which)
        self.same(lambda side: pub(side).send_many([bytes(size // (1 + i % 3)) for i in range(n)], kind, 0))

    @precondition(lambda self: self.has("pubs") and self.has("loans") < 3)
    @rule(which=pick, size=sizes, kind=types)
    def open_loan(self, which, size, kind):
        pub = self.any("pubs", which)

        def claim(side):
            loan = pub(side).loan(size, type=kind, timeout=0)
            view = loan.__enter__()
            side.loans.append((loan, view))
            view[:] = bytes(size)
            return loan.seq

        self.same(claim)

    @precondition(lambda self: self.has("loans"))
    @rule(which=pick, commit=st.booleans())
    def end_loan(self, which, commit):
        why = (None, None, None) if commit else (KeyError, KeyError(), None)
        self.same(lambda side: side.loans.pop(which % len(side.loans))[0].__exit__(*why))

    @precondition(lambda self: self.has("members"))
    @rule(which=pick, size=sizes)
    def talk(self, which, size):
        member = self.any("members", which)
        self.same(lambda side: member(side).send(bytes(size), timeout=0))

    # Receiving

    @precondition(lambda self: self.has("subs"))
    @rule(which=pick, way=ways, n=st.integers(0, 30))
    def receive(self, which, way, n):
        sub = self.any("subs", which)
        self.same(lambda side: receive(sub(side), way, n))

    @precondition(lambda self: self.has("members"))
    @rule(which=pick, n=st.integers(0, 30))
    def hear(self, which, n):
        member = self.any("members", which)
        self.same(lambda side: member(side).recv_many(n))

    @precondition(lambda self: self.has("subs") and self.has("views") < 3)
    @rule(which=pick)
    def open_view(self, which):
        sub = self.any("subs", which)

        def hold(side):
            view = sub(side).view(timeout=0)
            message = view.__enter__()
            side.views.append((view, message))
            return message

        self.same(hold)

    @precondition(lambda self: self.has("views"))
    @rule(which=pick)
    def end_view(self, which):
        self.same(lambda side: side.views.pop(which % len(side.views))[0].__exit__(None, None, None))

    @precondition(lambda self: self.has("subs"))
    @rule(which=pick, where=places)
    def seek(self, which, where):
        sub = self.any("subs", which)
        where = self.place(sub(self.sides[0]).topic, where)
        self.same(lambda side: sub(side).seek(where))

    @precondition(lambda self: self.has("subs"))
    @rule(which=pick, seq=st.one_of(st.none(), st.integers(0, 40)))
    def commit(self, which, seq):
        sub = self.any("subs", which)
        self.same(lambda side: sub(side).commit(seq))

    @precondition(lambda self: self.has("subs"))
    @rule()
    def wait(self):
        self.same(lambda side: [side.subs.index(sub) for sub in slipring.wait([*side.subs], timeout=0)])

    # The bus

    @rule(topic=topics, cursor=cursors.filter(bool))
    def drop_cursor(self, topic, cursor):
        self.same(lambda side: side.bus.drop_cursor(topic, cursor))

    @rule(topic=topics, asked=settings_asked)
    def create(self, topic, asked):
        self.same(lambda side: side.bus.create(topic, **asked))

    @precondition(lambda self: not self.has("loans") and not self.has("views"))
    @rule(topic=topics, really=st.integers(0, 5))
    def remove(self, topic, really):
        if really == 0:
            self.same(lambda side: side.bus.remove(topic))

    @rule(call=bad_calls)
    def use_wrongly(self, call):
        self.same(call)

    @invariant()
    def accounts_and_tables_are_equal(self):
        self.same(lambda side: [account(sub) for sub in (*side.subs, *side.members)])
        self.same(lambda side: [topic_facts(side.bus, topic) for topic in side.bus.topics()])


@pytest.mark.timeout(600)  # for shrinking, should it fail
def test_shared_memory_and_the_stepped_bus_give_the_same_outcomes(bus_root):
    Lockstep.backends = [BACKENDS[name](bus_root) for name in ("shm", "stepped")]
    run_state_machine_as_test(
        Lockstep,
        settings=settings(
            max_examples=100,
            stateful_step_count=60,
            report_multiple_bugs=False,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, *SHRINK],
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
