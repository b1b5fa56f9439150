# SPDX-License-Identifier: Apache-2.0
"""A topic that is removed takes messages with it that no batch has: they are counted when the session ends."""

import pytest

from lake import filling
from slipring.pipelines.lake import DamagedLake, Lake
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.record import session as beginnings
from slipring.pipelines.record import tails
from slipring.pipelines.record.ends import ended
from slipring.pipelines.record.finish import end, release, summary
from slipring.pipelines.record.session import Subscription
from slipring.pipelines.record.tails import Tails


class Recording:
    """A session, and what its recorder sees, without Spark."""

    def __init__(self, lake, bus, words):
        self.lake, self.bus = lake, bus
        self.subscription = Subscription.of(words)
        self.session = lake.begin(beginnings.about(self.subscription, bus))
        self.seen = self.watch(resumed=False)

    def watch(self, resumed):
        starts = beginnings.starts(self.lake, self.bus, self.subscription.present(self.bus), False, None)
        seen = Tails(self.lake, self.session, self.bus, self.subscription)
        seen.begin(starts, resumed=resumed)
        return seen

    def died(self):
        """What a killed recorder leaves is what it saved."""
        self.seen.look()
        self.seen.save()
        self.seen.close()

    def lost(self):
        assert verify(self.lake.path).complete
        told = summary(Lake.open(self.lake.path), self.session, 0.0, None)
        return {topic: counts["lost"] for topic, counts in told.topics.items() if counts["lost"]}


def signed(bus, topic):
    generation = bus.stats(topic)["generation"]
    return generation - (1 << 64) if generation >> 63 else generation


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_every_message_of_a_removed_topic_that_is_in_no_batch_is_lost(lake, bus, delivery):
    publisher = bus.publisher("t", delivery=delivery)
    publisher.send_many([b"before"] * 3)
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"recorded"] * 4)
    filling.record(lake, recording.session, 0, ("t", filling.messages("t", 3, 7, signed(bus, "t"))))
    publisher.send_many([b"lost"] * 500)
    bus.remove("t")  # at once: nobody looked in between
    recording.died()
    end(lake, lake.refresh().sessions[recording.session])
    assert recording.lost() == {"t": 500}
    assert not list((lake.path / "_checkpoint").glob("*.tails"))


def test_what_was_never_in_a_batch_is_lost_from_where_the_recording_began(lake, bus):
    publisher = bus.publisher("t")
    publisher.send_many([b"before"] * 3)
    recording = Recording(lake, bus, "*")
    publisher.send_many([b"lost"] * 5)
    late = bus.publisher("late")
    late.send(b"lost")
    recording.seen.look()
    late.send(b"lost")
    bus.remove("t")
    bus.remove("late")
    recording.died()
    assert release(lake.path) == [recording.session]
    assert recording.lost() == {"t": 5, "late": 2}


def test_a_topic_made_again_is_another_and_the_first_is_accounted_for(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"lost"] * 5)
    bus.remove("t")
    bus.publisher("t").send_many([b"new"] * 7)
    recording.died()
    filling.record(lake, recording.session, 0, ("t", filling.messages("t", 0, 7, signed(bus, "t"))))
    release(lake.path)
    assert recording.lost() == {"t": 5}


def test_a_topic_that_is_there_loses_nothing_when_its_recording_ends_before_it(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"x"] * 5)
    recording.died()
    release(lake.path)
    assert recording.lost() == {}


def test_a_recorder_that_goes_on_knows_what_the_last_one_saw(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"x"] * 5)
    recording.died()
    bus.remove("t")
    bus.publisher("t").send(b"new")
    recording.seen = recording.watch(resumed=True)
    recording.died()
    release(lake.path)
    assert recording.lost() == {"t": 5}


def test_the_same_loss_is_recorded_once(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"x"] * 5)
    bus.remove("t")
    recording.died()
    session = lake.refresh().sessions[recording.session]
    assert [piece.end for piece in tails.lost(lake, session, bus)] == [5]
    from slipring.pipelines.record.finish import _record_lost

    _record_lost(lake, session, bus)  # and killed before the session was ended
    assert tails.lost(lake, lake.refresh().sessions[recording.session], bus) == []
    release(lake.path)
    assert recording.lost() == {"t": 5}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"topics": [["../x", "00000000000000aa", 0, 9]]}', '{"topics": [["t", "x", 0, 9]]}',
     '{"topics": [["t", "00000000000000aa", -1, 9]]}', '{"topics": [["t", "00000000000000aa", 0]]}'],
)  # fmt: skip
def test_what_is_kept_of_tails_is_checked(lake, bus, text):
    session = lake.begin(beginnings.about(Subscription.of("*"), bus))
    tails.path_of(lake, session).write_text(text)
    with pytest.raises(DamagedLake, match=r"\.tails is damaged"):
        release(lake.path)


def offsets(**topics):
    return {
        "slipring": 1,
        "topics": {topic: {"generation": g, "next": n, "origin": o} for topic, (g, n, o) in topics.items()},
    }


@pytest.mark.parametrize(
    ("start", "found", "ends", "expected"),
    [
        ({"t": ("aa", 3, 0)}, {"t": ("aa", 9, 0)}, {"t": ("aa", 7)}, {"t": ("aa", 7, 0)}),
        ({"t": ("aa", 3, 0)}, {"t": ("aa", 5, 0)}, {"t": ("aa", 7)}, {"t": ("aa", 5, 0)}),
        ({"t": ("aa", 8, 0)}, {"t": ("aa", 9, 0)}, {"t": ("aa", 7)}, {"t": ("aa", 8, 0)}),
        ({"t": ("aa", 3, 0)}, {"t": ("bb", 9, 0)}, {"t": ("aa", 7)}, {"t": ("aa", 3, 0)}),
        ({"t": ("aa", 3, 0)}, {"t": ("bb", 9, 0)}, {"t": ("bb", 7)}, {"t": ("bb", 7, 0)}),
        ({"t": ("aa", 3, 0)}, {"t": ("aa", 9, 0)}, {"t": ("bb", 7)}, {"t": ("aa", 9, 0)}),
        ({}, {"t": ("aa", 9, 4)}, {"t": ("aa", 7)}, {"t": ("aa", 7, 4)}),
        ({}, {"t": ("aa", 9, 4)}, {"t": ("aa", 2)}, {"t": ("aa", 4, 4)}),
        ({}, {"t": ("aa", 9, 0)}, {}, {}),
    ],
)
def test_a_query_takes_nothing_beyond_the_end(start, found, ends, expected):
    assert ended(offsets(**start), offsets(**found), ends) == offsets(**expected)
