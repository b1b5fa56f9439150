# SPDX-License-Identifier: Apache-2.0
"""Small files become large ones, and the recording stays the same."""

import pytest

from lake import filling
from slipring.pipelines.lake import DamagedLake, Lake
from slipring.pipelines.lake.compact import compact
from slipring.pipelines.lake.verify import verify


@pytest.fixture
def recorded(lake, session):
    for batch in range(10):
        first = batch * 10
        filling.record(lake, session, batch, ("a", filling.messages("a", first, first + 10)))
    filling.record(lake, session, 10, ("a", filling.hole("a", 100, 1, 0)), ("b", filling.messages("b", 0, 2)))
    return lake


def test_the_rows_are_the_same_in_fewer_files(recorded):
    before = filling.rows(recorded, "a")
    reader = Lake.open(recorded.path)
    done = compact(recorded)
    assert (done.merged, done.into, done.cleared) == (11, 1, 0)
    assert filling.rows(recorded, "a") == before and len(recorded.files(["a"])) == 1
    assert filling.rows(reader, "a") == before, "whoever opened the lake before still finds its files"
    assert verify(recorded.path).complete
    assert recorded.files(["a"])[0].types == ("a.v1",)


def test_other_programs_find_each_row_once_after_a_compaction(recorded):
    before = filling.listed(recorded)
    compact(recorded)
    assert filling.listed(recorded) == before


def test_replaced_files_are_hidden_at_once_and_cleared_later(recorded):
    old = recorded.files(["a"])
    reader = Lake.open(recorded.path)
    planned = [reader.held(file) for file in old]
    compact(recorded)
    assert not any((recorded.path / file.path).exists() for file in old)
    assert all(path.exists() for path in planned), "whoever planned with a file before can still read it"
    assert all(reader.where(file).exists() for file in old)
    assert compact(recorded, keep_s=0).cleared == 11
    assert not any(path.exists() for path in planned) and not recorded.state.replaced
    assert verify(recorded.path).complete


def test_files_that_an_earlier_version_replaced_are_hidden(recorded):
    before = filling.listed(recorded)
    data = {file.path: (recorded.path / file.path).read_bytes() for file in recorded.files(["a"])}
    compact(recorded)
    for path, body in data.items():
        (recorded.path / path).write_bytes(body)
    assert filling.listed(Lake.open(recorded.path)) == before


def test_a_read_only_lake_is_read_from_its_present_files(recorded):
    file = recorded.files(["a"])[0]
    (recorded.path / "_held").write_text("no directory can be made here")
    assert recorded.held(file) == recorded.path / file.path


def test_merged_files_stay_below_the_target_size(recorded):
    size = recorded.files(["a"])[0].bytes
    compact(recorded, target_bytes=3 * size)
    assert 3 <= len(recorded.files(["a"])) <= 6
    assert verify(recorded.path).complete


def test_two_sessions_stay_apart_in_one_file(recorded):
    session = recorded.begin({})
    filling.record(recorded, session, 0, ("a", filling.messages("a", 500, 510)))
    compact(recorded)
    verdict = verify(recorded.path)
    assert verdict.complete
    assert [(run.first, run.end) for run in verdict.generations[0].runs] == [(0, 101), (500, 510)]


def test_a_damaged_file_is_not_merged(recorded):
    path = recorded.path / recorded.files(["a"])[4].path
    data = bytearray(path.read_bytes())
    data[60] ^= 4
    path.write_bytes(data)
    with pytest.raises(DamagedLake, match="check sum is wrong"):
        compact(recorded)
    assert len(recorded.files(["a"])) == 11 and not list((recorded.path / "_staging").iterdir())


def test_it_can_be_stopped_between_files(recorded):
    asked = iter([False, False, True])
    assert compact(recorded, stopped=lambda: next(asked)).merged == 0
    assert len(recorded.files(["a"])) == 11 and verify(recorded.path).complete
