# SPDX-License-Identifier: Apache-2.0
"""Messages of a removed topic that are in no batch are counted as lost when the session ends."""

import pytest

from lake import filling
from slipring.pipelines.lake import DamagedLake, Lake
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.record import begin, topic_extents
from slipring.pipelines.record.begin import Subscription
from slipring.pipelines.record.end_offsets import clipped, load_end_offsets
from slipring.pipelines.record.finish import end, release, summary
from slipring.pipelines.record.topic_extents import TopicExtents


class Recording:
    """A session and the extents of its topics, without Spark."""

    def __init__(self, lake, bus, words):
        self.lake, self.bus = lake, bus
        self.subscription = Subscription.of(words)
        self.session = lake.begin(begin.description(self.subscription, bus))
        self.seen = self.watch(resumed=False)

    def watch(self, resumed):
        starts = begin.start_offsets(self.lake, self.bus, self.subscription.present(self.bus), False, None)
        seen = TopicExtents(self.lake, self.session, self.bus, self.subscription)
        seen.start(starts, resumed=resumed)
        return seen

    def stop(self):
        """Leave what a killed recorder leaves: what it saved."""
        self.seen.update()
        self.seen.save()
        self.seen.close()

    def lost(self):
        assert verify(self.lake.path).complete
        found = summary(Lake.open(self.lake.path), self.session, 0.0, None)
        return {topic: counts["lost"] for topic, counts in found.topics.items() if counts["lost"]}


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
    bus.remove("t")  # at once, before any update
    recording.stop()
    end(lake, lake.refresh().sessions[recording.session])
    assert recording.lost() == {"t": 500}
    assert not list((lake.path / "_checkpoint").glob("*.tails"))


def test_messages_that_were_never_in_a_batch_are_lost_from_the_beginning_of_the_recording(lake, bus):
    publisher = bus.publisher("t")
    publisher.send_many([b"before"] * 3)
    recording = Recording(lake, bus, "*")
    publisher.send_many([b"lost"] * 5)
    late = bus.publisher("late")
    late.send(b"lost")
    recording.seen.update()
    late.send(b"lost")
    bus.remove("t")
    bus.remove("late")
    recording.stop()
    assert release(lake.path) == [recording.session]
    assert recording.lost() == {"t": 5, "late": 2}


def test_a_topic_that_is_made_again_is_another_one_and_the_first_is_counted(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"lost"] * 5)
    bus.remove("t")
    bus.publisher("t").send_many([b"new"] * 7)
    recording.stop()
    filling.record(lake, recording.session, 0, ("t", filling.messages("t", 0, 7, signed(bus, "t"))))
    release(lake.path)
    assert recording.lost() == {"t": 5}


def test_an_existing_topic_has_no_loss_if_its_recording_ends_first(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"x"] * 5)
    recording.stop()
    release(lake.path)
    assert recording.lost() == {}


def test_a_resumed_recorder_knows_the_extents_of_the_killed_one(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"x"] * 5)
    recording.stop()
    bus.remove("t")
    bus.publisher("t").send(b"new")
    recording.seen = recording.watch(resumed=True)
    recording.stop()
    release(lake.path)
    assert recording.lost() == {"t": 5}


def test_the_same_loss_is_recorded_once(lake, bus):
    publisher = bus.publisher("t")
    recording = Recording(lake, bus, "t")
    publisher.send_many([b"x"] * 5)
    bus.remove("t")
    recording.stop()
    recorded = lake.refresh().sessions[recording.session]
    assert [piece.end for piece in topic_extents.lost(lake, recorded, bus)] == [5]
    from slipring.pipelines.record.finish import _record_lost

    _record_lost(lake, recorded, bus)  # and killed before the session was ended
    assert topic_extents.lost(lake, lake.refresh().sessions[recording.session], bus) == []
    release(lake.path)
    assert recording.lost() == {"t": 5}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"topics": [["../x", "00000000000000aa", 0, 9]]}', '{"topics": [["t", "x", 0, 9]]}',
     '{"topics": [["t", "00000000000000aa", -1, 9]]}', '{"topics": [["t", "00000000000000aa", 0]]}'],
)  # fmt: skip
def test_the_file_of_extents_is_checked(lake, bus, text):
    begun = lake.begin(begin.description(Subscription.of("*"), bus))
    topic_extents.path_of(lake, begun).write_text(text)
    with pytest.raises(DamagedLake, match=r"\.tails is damaged"):
        release(lake.path)


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "Expecting value"), ("[]", "Expected `object`, got `array`"), ('{"t": ["00000000000000aa", -1]}', ">= 0"),
     ('{"t": ["x", 9]}', "regex"), ('{"t": ["00000000000000aa"]}', "length 2")],
)  # fmt: skip
def test_the_file_of_end_offsets_is_checked(tmp_path, text, why):
    path = tmp_path / "session.ends"
    assert load_end_offsets(path) is None
    path.write_text(text)
    with pytest.raises(DamagedLake, match=rf"session\.ends is damaged \(.*{why}"):
        load_end_offsets(path)


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
def test_a_query_reads_nothing_beyond_the_end(start, found, ends, expected):
    assert clipped(offsets(**start), offsets(**found), ends) == offsets(**expected)
