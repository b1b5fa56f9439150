# SPDX-License-Identifier: Apache-2.0
"""Random SIGKILLs on topics; every message is accounted for (promise 9, invariants 1 to 5 and 8)."""

import shutil

import pytest

import slipring
from crash.storms.storm import KILLS, SECONDS, Storm, epochs
from storm import audit
from storm.journal import Kind
from storm.supervisor import Role

pytestmark = pytest.mark.timeout(900 + 3 * SECONDS + 2 * KILLS)  # a watchdog

IN_PYTHON_ALONE = ("recv_batch", "recv_into")
SMALL_RING = {"capacity": "64KiB", "slots": 256}
ALL_WAYS = ["send", "send", "send_many", "loan"]


def publisher(name: str, ways: list[str], mortal: bool = True) -> Role:
    return Role(name, "storm.roles:publisher", "", {"ways": ways, "largest": 16000}, mortal)


def reader(name: str, take: str, mortal: bool = True, **settings) -> Role:
    return Role(name, "storm.roles:reader", "", {"take": take, "settings": settings}, mortal)


def member(name: str, mortal: bool) -> Role:
    return Role(name, "storm.roles:member", "", {"largest": 3000}, mortal)


def witness() -> Role:
    return reader("witness", "recv_many", mortal=False, start="oldest")


def choose_languages(roles: list[Role], epoch: int) -> list[Role]:
    """Run every second role in C; the next time the others."""
    for number, role in enumerate(roles):
        has_both = role.function in ("publisher", "reader") and role.config.get("take") not in IN_PYTHON_ALONE
        role.in_c = has_both and (number + epoch) % 2 == 1
    return roles


class Audit:
    """Run all checks of a storm on one topic. A failed check shows counter-examples."""

    def __init__(self, storm: Storm, stats: dict) -> None:
        self.lives, self.kills, self.stats = audit.lives(storm.work), storm.kills, stats
        self.topic = audit.Topic(storm.topics[0], 0, stats["tail"], self.lives)
        self.aborted = sum(life.count(Kind.ABORTED) for life in self.lives)

    def all(self) -> None:
        stats = self.stats
        none(audit.died(self.lives))
        none(self.topic.contradictions)
        none(audit.corrupt(self.topic))
        none(audit.uncommitted(self.topic, self.lives))
        none(audit.disorder(self.topic))
        assert stats["published"] + stats["abandoned"] == stats["tail"], stats
        assert stats["published"] >= self.topic.known
        assert self.aborted <= stats["abandoned"] <= self.aborted + 12 * self.kills

    def reliable(self) -> None:
        """Also check a reader that was attached from the first message to the last."""
        self.all()
        none(audit.unknown(self.topic, self.stats))
        none(audit.unreceived(self.topic))
        none(audit.gaps(self.topic, self.topic.of("witness")))
        self.accounts_for_all("witness")

    def no_gaps(self, *names: str, wanted: audit.Wanted | None = None) -> None:
        none(audit.gaps(self.topic, self.topic.of(*names), wanted))
        none(audit.uncounted(self.topic, self.topic.of(*names)))

    def cursor(self, name: str) -> None:
        none(audit.cursor_faults(self.topic, self.topic.of(name)))

    def losses_are_counted(self, *names: str, exact: bool = False) -> None:
        none(audit.uncounted(self.topic, self.topic.of(*names), exact))

    def accounts_for_all(self, *names: str) -> None:
        """For readers that reached the end: received + lost + filtered = published since their start."""
        for name in names:
            (reading,) = self.topic.of(name)
            assert reading.ended
            none(audit.unfinished(self.topic, [reading], self.stats["published"]))
            none(reading.row_faults())


def none(faults: list[str]) -> None:
    assert not faults, "\n".join(faults[:10])


@pytest.fixture
def storm_over(bus_root, tmp_path, tally, workers_in_c):
    """Run storms on one topic for a share of the time. Yield the audit of each."""

    def run(roles_of, shares=epochs, how: str = "kill_for", **topic_settings):
        for epoch, seconds, kills in shares():
            topic = f"storm{epoch}"
            with slipring.Bus("test", root=str(bus_root)) as bus:
                bus.create(topic, **topic_settings)
            roles = choose_languages(roles_of(), epoch)
            for role in roles:
                role.topic = topic
            storm = Storm(bus_root, tmp_path / topic, roles)
            try:
                storm.start_all()
                storm.random_kills.expect_progress()
                during = getattr(storm.random_kills, how)
                tally.time(storm, lambda during=during, t=seconds, k=kills: during(t, k))
                stats = storm.finish()
            finally:
                storm.close()
            audited = Audit(storm, stats)
            known, received = audited.topic.known, sum(r.receptions for r in audited.topic.readings)
            print(f"{topic}: {storm.kills} kills, {known} messages, {stats['abandoned']} abandoned")
            yield audited
            tally.add(storm, messages=known, receptions=received)
            shutil.rmtree(storm.work)
            _leave_nothing(bus_root, topic)

    return run


def _leave_nothing(bus_root, topic: str) -> None:
    with slipring.Bus("test", root=str(bus_root)) as bus:
        assert bus.doctor() == []
        assert {path.name for path in (bus_root / "test").iterdir()} == {f"{topic}.ring", f"{topic}.readers"}
        bus.remove(topic)
        assert list((bus_root / "test").iterdir()) == []


def wants_even(reading, identities):
    return identities % 2 == 0


def wants_others(reading, identities):
    return identities >> 32 != reading.life.life


def reliable_readers() -> list[Role]:
    return [
        witness(),
        reader("copying", "recv", start="oldest"),
        reader("holding", "view"),
        reader("waiting", "wait"),
        reader("filtering", "recv_into", start="oldest", types=["even"]),
        reader("cursor", "recv_many", start="oldest", cursor="c"),
        reader("batching_reader", "recv_batch"),
        reader("tap", "recv", lossy=True),
    ]


def check_reliable(audited: Audit) -> None:
    audited.reliable()
    audited.no_gaps("witness", "copying", "holding", "waiting", "batching_reader")
    audited.no_gaps("filtering", wanted=wants_even)
    audited.cursor("cursor")
    audited.losses_are_counted("tap", exact=True)


def many_publishers() -> list[Role]:
    return [
        publisher("steady", ALL_WAYS, mortal=False),
        publisher("sending", ["send"]),
        publisher("batching", ["send_many"]),
        publisher("lending", ["loan"]),
    ]


def test_kills_lose_nothing_on_a_reliable_topic_of_many_writers(storm_over):
    def roles() -> list[Role]:
        return [*many_publishers(), *reliable_readers()]

    for audited in storm_over(roles, delivery="reliable", **SMALL_RING):
        check_reliable(audited)


def test_kills_lose_nothing_on_a_reliable_topic_of_one_writer(storm_over):
    def roles() -> list[Role]:
        return [publisher("only", ALL_WAYS), *reliable_readers()]

    for audited in storm_over(roles, delivery="reliable", writers="one", **SMALL_RING):
        check_reliable(audited)


def lossy_readers() -> list[Role]:
    return [
        reader("witness", "recv", mortal=False, start="oldest"),
        reader("filtered_witness", "recv_many", mortal=False, start="oldest", types=["odd"]),
        reader("newest_witness", "recv", mortal=False, start="oldest", conflate=True),
        reader("copying", "recv", start="oldest"),
        reader("holding", "view"),
        reader("waiting", "wait", start="last"),
        reader("into", "recv_into"),
    ]


def check_lossy(audited: Audit) -> None:
    audited.all()
    audited.accounts_for_all("witness", "filtered_witness", "newest_witness")
    audited.losses_are_counted("witness", "copying", "holding", "waiting", "into")


def test_kills_leave_only_counted_losses_on_a_lossy_topic_of_many_writers(storm_over):
    def roles() -> list[Role]:
        return [*many_publishers(), *lossy_readers()]

    for audited in storm_over(roles, delivery="lossy", **SMALL_RING):
        check_lossy(audited)


def test_kills_leave_only_counted_losses_on_a_lossy_topic_of_one_writer(storm_over):
    def roles() -> list[Role]:
        return [publisher("only", ALL_WAYS), *lossy_readers()]

    for audited in storm_over(roles, delivery="lossy", writers="one", **SMALL_RING):
        check_lossy(audited)


def test_killed_members_of_a_conversation_leave_the_others_complete(storm_over):
    """All members send and receive on a ring that is smaller than one round (promise 16)."""

    def roles() -> list[Role]:
        members = [member(f"member{i}", mortal=i > 0) for i in range(4)]
        return [*members, witness(), reader("holding", "view")]

    for audited in storm_over(roles, delivery="reliable", capacity=4096, slots=16):
        audited.reliable()
        audited.no_gaps("member0", "member1", "member2", "member3", wanted=wants_others)
        audited.no_gaps("holding")
        audited.accounts_for_all("member0")


PAUSES = {"shares": lambda: [(0, 4.0, 0)], "how": "pause_for", **SMALL_RING}


def paused_publishers() -> list[Role]:
    return [publisher("sending", ALL_WAYS, mortal=False), publisher("lending", ["loan"], mortal=False)]


def test_paused_processes_are_not_dead_and_nothing_is_lost_or_changed_for_them(storm_over):
    def roles() -> list[Role]:
        return [
            *paused_publishers(),
            reader("copying", "recv", mortal=False, start="oldest"),
            reader("holding", "view", mortal=False, start="oldest"),
            witness(),
        ]

    for audited in storm_over(roles, delivery="reliable", **PAUSES):
        audited.reliable()
        assert audited.stats["abandoned"] == audited.aborted, "a paused publisher's message was given up"
        audited.no_gaps("copying", "holding", "witness")


def test_paused_processes_count_exact_losses_on_a_lossy_topic(storm_over):
    def roles() -> list[Role]:
        return [
            *paused_publishers(),
            reader("witness", "recv", mortal=False, start="oldest"),
            reader("holding", "view", mortal=False, start="oldest"),
            reader("newest", "recv", mortal=False, start="oldest", conflate=True),
        ]

    for audited in storm_over(roles, delivery="lossy", **PAUSES):
        audited.all()
        assert audited.stats["abandoned"] == audited.aborted, "a paused publisher's message was given up"
        audited.accounts_for_all("newest", "witness", "holding")
        audited.losses_are_counted("witness", "holding")
