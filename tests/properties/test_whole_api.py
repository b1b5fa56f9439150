# SPDX-License-Identifier: Apache-2.0
"""The whole API in one process, in any order, against a plain Python model (support/model.py)."""

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test

import slipring
from conformance.backends import BACKENDS
from support.machine import SENDERS, PublishingMachine, pick
from support.model import COMMITTED, ReaderModel

CURSORS = ["x", "y"]
FILTERS = [
    ({}, lambda entry: True),
    ({"types": ["a", ""]}, lambda entry: entry.type in ("a", "")),
    ({"ignore_types": ["a"]}, lambda entry: entry.type != "a"),
    ({"ignore_senders": ["ann", ""]}, lambda entry: entry.sender == "bob"),
]


def parts(message) -> tuple:
    return message.seq, message.sender, message.type, bytes(message.body)


class WholeApi(PublishingMachine):
    @initialize(kinds=st.lists(st.tuples(pick, st.booleans(), st.booleans()), min_size=3, max_size=4))
    def begin(self, kinds):
        for number in range(len(self.topics)):
            self.open_publisher(number, SENDERS[number])
        for which, lossy, conflate in kinds:
            self.open_subscriber(which, "new", lossy, conflate, FILTERS[which % len(FILTERS)], None)

    @precondition(lambda self: len(self.readers()) < 6)
    @rule(
        which=pick,
        start=st.one_of(st.sampled_from(["new", "oldest"]), pick),
        lossy=st.booleans(),
        conflate=st.booleans(),
        selected=st.sampled_from(FILTERS),
        cursor=st.one_of(st.none(), st.sampled_from(CURSORS)),
    )
    def open_subscriber(self, which, start, lossy, conflate, selected, cursor):
        topic = self.topics[which % len(self.topics)]
        filters, wants = ({}, FILTERS[0][1]) if cursor else selected
        reliable = topic.reliable and not (lossy and not cursor)
        oldest = self.bus.stats(topic.name)["oldest"]
        if isinstance(start, int):
            start = oldest + start % (topic.tail - oldest + 1)
        options = {"start": start, "conflate": conflate and not cursor, "cursor": cursor, **filters}
        try:
            sub = self.bus.subscriber(topic.name, lossy=None if reliable else True, **options)
        except slipring.Busy:
            assert any(reader.cursor == cursor for reader in topic.readers)
            return
        assert not (cursor and any(reader.cursor == cursor for reader in topic.readers))
        if cursor in topic.cursors:
            begin = topic.cursors[cursor]
        elif isinstance(start, int):
            begin = start
        else:
            begin = topic.tail if start == "new" else sub.position
            assert oldest <= begin <= topic.tail
        if cursor:
            topic.cursors.setdefault(cursor, begin)
        reader = ReaderModel(topic, sub, reliable, options["conflate"], wants, cursor, begin)
        reader.check([], complete=False)
        topic.readers.append(reader)

    @precondition(lambda self: self.free_readers() and self.age % 8 == 1)
    @rule(which=pick)
    def close_subscriber(self, which):
        reader = self.free_readers()[which % len(self.free_readers())]
        reader.topic.readers.remove(reader)
        reader.sub.close()

    @precondition(lambda self: self.free_readers())
    @rule(
        which=pick,
        how=st.sampled_from(["recv", "recv_into", "recv_many", "recv_batch"]),
        n=st.integers(1, 30),
    )
    def receive(self, which, how, n):
        reader = self.free_readers()[which % len(self.free_readers())]
        sub = reader.sub
        if how == "recv_batch":
            rows = sub.recv_batch(n).to_pylist()
            got = [(row["offset"], row["sender"], row["type"], row["value"]) for row in rows]
        elif how == "recv_many":
            got = [parts(message) for message in sub.recv_many(n)]
        else:
            n = 1
            message = sub.recv(timeout=0) if how == "recv" else sub.recv_into(bytearray(8192), timeout=0)
            got = [parts(message)] if message else []
        assert len(got) <= n
        reader.check(got, complete=len(got) < n or reader.conflate)

    @precondition(lambda self: self.free_readers())
    @rule()
    def drain(self):
        for reader in self.free_readers():
            reader.check([parts(message) for message in reader.sub.recv_many(10_000)], complete=True)
            assert reader.sub.lag == reader.topic.tail - reader.position

    @precondition(lambda self: self.free_readers())
    @rule(which=pick)
    def open_view(self, which):
        reader = self.free_readers()[which % len(self.free_readers())]
        view = reader.sub.view(timeout=0)
        message = view.__enter__()
        reader.check([parts(message)] if message else [], complete=message is None or reader.conflate)
        if message:
            reader.viewed = message.seq
            self.views.append((view, message.body, bytes(message.body), reader))
        else:
            view.__exit__(None, None, None)

    @precondition(lambda self: self.views)
    @rule(which=pick)
    def end_view(self, which):
        view, *_, reader = self.views.pop(which % len(self.views))
        view.__exit__(None, None, None)
        reader.viewed = None

    @precondition(lambda self: self.free_readers())
    @rule(which=pick, where=st.one_of(st.sampled_from(["new", "oldest", "last"]), pick))
    def seek(self, which, where):
        reader = self.free_readers()[which % len(self.free_readers())]
        topic, oldest = reader.topic, self.bus.stats(reader.topic.name)["oldest"]
        if isinstance(where, int):
            where = oldest + where % (topic.tail - oldest + 1)
        reader.sub.seek(where)
        found = reader.sub.position
        floor = topic.cursors[reader.cursor] if reader.cursor and topic.reliable else 0  # holds nothing below
        if where == "last":
            newest = [seq for seq in range(oldest, topic.tail) if topic.log[seq].state == COMMITTED]
            last = max(floor, newest[-1] if newest else topic.tail)
            assert found == last or topic.limit(oldest) < topic.tail, (
                f"sought {last}, found {found}: {reader}"
            )
        else:
            asked = max(floor, {"new": topic.tail, "oldest": oldest}.get(where, where))
            assert found == asked, f"sought {where}, found {found}, not {asked}: {reader}"
        reader.moved(found)

    # cursors, waiting, everything

    @precondition(lambda self: any(reader.cursor for reader in self.free_readers()))
    @rule(which=pick)
    def commit(self, which):
        readers = [reader for reader in self.free_readers() if reader.cursor]
        reader = readers[which % len(readers)]
        try:
            reader.sub.commit()
        except slipring.BadArgument:
            assert reader.position < reader.topic.cursors[reader.cursor], "a cursor goes only forwards"
            return
        (place,) = [c["position"] for c in self.bus.cursors(reader.topic.name) if c["name"] == reader.cursor]
        assert place == reader.position
        reader.topic.cursors[reader.cursor] = place

    @precondition(lambda self: self.age % 8 == 2)
    @rule(which=pick, name=st.sampled_from(CURSORS))
    def drop_cursor(self, which, name):
        topic = self.topics[which % len(self.topics)]
        if name in topic.cursors and not any(reader.cursor == name for reader in topic.readers):
            self.bus.drop_cursor(topic.name, name)
            del topic.cursors[name]

    @precondition(lambda self: self.free_readers())
    @rule()
    def wait(self):
        readers = self.free_readers()
        ready = slipring.wait([reader.sub for reader in readers], timeout=0)
        for reader in readers:
            left = reader.wanted(reader.position, reader.limit())
            sure = [seq for seq in left if reader.reliable or not reader.topic.may_be_lost(seq)]
            assert (reader.sub in ready) if sure else True
            assert left or reader.sub not in ready
            reader.looked()

    @precondition(lambda self: self.age % 20 == 9)
    @rule(which=pick)
    def remove_a_topic(self, which):
        topic = self.topics[which % len(self.topics)]
        self._end_loans_and_views()
        self.bus.remove(topic.name)
        for pub in [pub for pub, its in self.pubs if its is topic]:
            with pytest.raises(slipring.TopicGone):
                pub.send(b"x")
        for reader in topic.readers:
            with pytest.raises(slipring.TopicGone):
                reader.sub.recv(timeout=0)
            reader.sub.close()
        self.pubs = [(pub, its) for pub, its in self.pubs if its is not topic]
        self._make(topic)

    @precondition(lambda self: self.age % 20 == 19)
    @rule()
    def reopen_the_bus(self):
        self._close_everything()
        self.bus.close()
        self.bus = self.backend.open(self.name)

    @invariant()
    def held_messages_never_change(self):
        self.age += 1
        for _, body, expected, _ in self.views:
            assert bytes(body) == expected

    @invariant()
    def statistics_agree(self):
        for topic in self.topics:
            stats = self.bus.stats(topic.name)
            assert stats["tail"] == topic.tail, f"{topic.name}: {stats['tail']}, not {topic.tail}"
            assert stats["published"] == topic.committed(0, topic.tail)
            assert stats["oldest"] <= topic.hold(views=False)
            places = {cursor["name"]: cursor["position"] for cursor in stats["cursors"]}
            assert places == topic.cursors


@pytest.mark.timeout(600)  # for shrinking, should it fail
@pytest.mark.parametrize("name", ["shm", "stepped"])
def test_the_whole_api_behaves_like_its_model(bus_root, name):
    WholeApi.backend = BACKENDS[name](bus_root)
    run_state_machine_as_test(
        WholeApi,
        settings=settings(
            max_examples=80,
            stateful_step_count=100,
            report_multiple_bugs=False,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
