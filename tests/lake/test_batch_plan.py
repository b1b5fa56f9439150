# SPDX-License-Identifier: Apache-2.0
"""A batch is committed only if its files cover the plan of Spark, whatever the tasks returned."""

import pytest

from lake import filling
from lake.test_row_files import Frame, batch
from slipring.pipelines.errors import IncompleteBatch
from slipring.pipelines.lake import row_files
from slipring.pipelines.lake.generations import contents
from slipring.pipelines.lake.stage import new_stage_path
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.record.batch import BatchWriter
from slipring.pipelines.record.begin import Subscription, description


@pytest.fixture
def recording(lake, bus):
    """A topic with twenty messages, of which ten are recorded, and the writer of the next batch."""
    return Recording(lake, bus)


class Recording:
    def __init__(self, lake, bus):
        self.lake, self.bus = lake, bus
        bus.publisher("a").send_many([b"x"] * 20)
        generation = bus.stats("a")["generation"]
        self.generation = generation - (1 << 64) if generation >> 63 else generation
        self.session = lake.begin(description(Subscription.of("a"), bus))
        self.write(0, [(0, 10)])

    def write(self, number, ranges, planned=None):
        files = [
            file
            for first, end in ranges
            for file in row_files.write(
                new_stage_path(self.lake.path, "record"),
                "a",
                [batch(filling.messages("a", first, end, self.generation))],
                sync=False,
            )
        ]
        end = planned or max(end for _, end in ranges)
        filling.plan(self.lake, self.session, number, self.generation, a=(0, end))
        BatchWriter(self.lake.path, self.session)(Frame(files), number)
        self.lake.refresh()

    def recorded(self):
        verdict = verify(self.lake.path)
        assert verdict.complete, verdict.problems
        (found,) = contents(self.lake)
        return found.messages, found.lost


SILENT = {
    "nothing at all": [],
    "without the first": [(15, 20)],
    "without the last": [(10, 15)],
    "without the middle": [(10, 12), (17, 20)],
}


@pytest.mark.parametrize("ranges", SILENT.values(), ids=SILENT)
def test_a_batch_without_messages_of_an_existing_topic_is_refused(recording, ranges):
    with pytest.raises(
        IncompleteBatch, match=r"no task returned offsets .* of topic 'a' .*, which were planned"
    ):
        recording.write(1, ranges, planned=20)
    assert recording.recorded() == (10, 0), "nothing of it counts"
    recording.write(1, [(10, 20)])
    assert recording.recorded() == (20, 0)


@pytest.mark.parametrize("ranges", SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("replaced", [False, True])
def test_messages_lost_with_their_topic_are_recorded_as_a_hole(recording, ranges, replaced):
    recording.bus.remove("a")
    if replaced:
        recording.bus.create("a")
    recording.write(1, ranges, planned=20)
    brought = sum(end - first for first, end in ranges)
    assert recording.recorded() == (10 + brought, 10 - brought)
    assert not list((recording.lake.path / "_staging").iterdir())


@pytest.mark.parametrize(
    "ranges", [[(9, 20)], [(10, 21)], [(10, 15), (14, 20)], [(10, 20), (10, 20)], [(30, 40)]]
)
def test_a_batch_with_other_offsets_or_with_one_twice_is_refused(recording, ranges):
    with pytest.raises(IncompleteBatch, match="which were not planned so"):
        recording.write(1, ranges, planned=20)
    assert recording.recorded() == (10, 0)


@pytest.mark.parametrize("text", ["", "v1\n{}", "v1\n{}\n{}", "v1\n{}\n-"])
def test_a_batch_without_a_plan_is_refused(recording, text):
    (recording.lake.path / "_checkpoint" / recording.session / "offsets" / "1").write_text(text)
    with pytest.raises(IncompleteBatch, match="its plan cannot be read"):
        BatchWriter(recording.lake.path, recording.session)(Frame([]), 1)
