# SPDX-License-Identifier: Apache-2.0
"""verify accepts a complete recording, and names each problem of any other."""

import shutil

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake import filling
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.file_facts import checksum
from slipring.pipelines.lake.verify import Problem, _problems_now, verify


@pytest.fixture
def recorded(lake, session):
    for batch in range(3):
        first = batch * 10
        filling.record(lake, session, batch, ("a", filling.messages("a", first, first + 10)))
    filling.record(lake, session, 3, ("a", filling.hole("a", 30, 5, 5)), ("b", filling.messages("b", 7, 9)))
    lake.end(session)
    return lake


def problems(lake):
    return [(problem.where, problem.what) for problem in verify(lake.path).problems]


def a_file(lake, number=0):
    return lake.files(["a"])[number]


def test_a_correct_recording_is_complete(recorded):
    verdict = verify(recorded.path)
    assert verdict.complete and verdict.rows == 33 and verdict.files == 5
    assert [(one.topic, one.messages, one.lost) for one in verdict.generations] == [("a", 30, 5), ("b", 2, 0)]


def test_a_missing_file_is_named(recorded):
    file = a_file(recorded)
    (recorded.path / file.path).unlink()
    assert problems(recorded) == [(file.path, "is missing: restore it from a copy; `slipring lake verify "
                                   f"{recorded.path}` lists all that is missing")]  # fmt: skip


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_file_is_named(recorded, damage):
    file = a_file(recorded)
    path = recorded.path / file.path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes({"cut": data[:-9], "flipped": data, "empty": b""}[damage])
    ((where, what),) = problems(recorded)
    assert where == file.path
    assert ("check sum" if damage == "flipped" else "bytes instead of") in what


def test_a_file_put_in_the_place_of_another_is_named(recorded):
    first, second = a_file(recorded), a_file(recorded, 1)
    shutil.copy(recorded.path / second.path, recorded.path / first.path)
    assert [where for where, _ in problems(recorded)] == [first.path]


def test_a_foreign_file_is_named(recorded):
    (recorded.path / "messages/topic=a/date=2026-01-01/mine.parquet").write_bytes(b"")
    assert problems(recorded) == [
        ("messages/topic=a/date=2026-01-01/mine.parquet", "is foreign, not part of the recording: remove it")
    ]


def test_every_damaged_log_entry_is_named(recorded):
    (recorded.path / "_log/00000001.json").write_text("{}")
    (recorded.path / "_log/00000003.json").unlink()
    assert [where for where, _ in problems(recorded)] == ["_log/00000001.json", "_log/00000003.json"]


def test_offsets_that_are_missing_between_batches_are_named(lake, session):
    filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    filling.record(lake, session, 1, ("a", filling.messages("a", 8, 9)))
    assert problems(lake) == [("a", f"offsets 5 to 7 are missing from the recording {session}")]


def test_offsets_that_are_there_twice_are_named(lake, session):
    filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    filling.record(lake, session, 1, ("a", filling.messages("a", 3, 9)))
    assert problems(lake) == [("a", "offsets 3 to 4 are there twice")]


def test_rows_that_are_there_twice_in_one_file_are_named(lake, session):
    rows = filling.messages("a", 0, 5)
    filling.record(lake, session, 0, ("a", rows[:3] + rows[2:3] + rows[4:]))  # 2 twice, 3 not at all
    missing, twice = problems(lake)
    assert missing[0] == "a" and missing[1].startswith("offsets 3 to 3 are missing from the recording ")
    assert twice == ("a", "offsets 2 to 2 are there twice")


def test_rows_that_differ_from_the_log_are_named(lake, session):
    filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    file = a_file(lake)
    path = lake.path / file.path
    table = pq.ParquetFile(path).read()
    order = table.schema.get_field_index("offset")
    pq.write_table(table.set_column(order, "offset", pa.array([0, 1, 2, 2, 4])), path)
    facts = {"bytes": path.stat().st_size, "crc32": checksum(path)}
    assert list(_problems_now(lake, msgspec.structs.replace(file, **facts))) == [
        Problem(file.path, "does not have the offsets that the log names")
    ]


def test_between_two_recordings_offsets_may_be_missing(lake):
    for first in (0, 100):
        session = lake.begin({})
        filling.record(lake, session, 0, ("a", filling.messages("a", first, first + 5)))
        lake.end(session)
    assert problems(lake) == []
    other = filling.messages("a", 0, 5, generation=9)
    session = lake.begin({})
    filling.record(lake, session, 0, ("a", other))
    verdict = verify(lake.path)
    assert verdict.complete
    assert [[(run.first, run.end) for run in one.runs] for one in verdict.generations] == [
        [(0, 5)],
        [(0, 5), (100, 105)],
    ]


def test_the_files_of_removed_entries_are_foreign(recorded):
    (recorded.path / "_log/00000005.json").unlink()
    (recorded.path / "_log/00000004.json").unlink()
    left = Lake.open(recorded.path)
    assert filling.rows(left, "a") == filling.expected("a", 30)
    assert all("is foreign" in what for _, what in problems(left)) and len(problems(left)) == 2
