# SPDX-License-Identifier: Apache-2.0
"""A task of a recording writes every row once, in order, into the file of its day."""

import json

import pyarrow as pa
import pytest

from lake import filling
from slipring.pipelines.lake import row_files
from slipring.pipelines.lake.generations import contents
from slipring.pipelines.lake.stage import new_stage_path
from slipring.pipelines.record.batch import BatchWriter

PER_DAY = 86_400_000  # rows of filling are a millisecond apart


def batch(rows):
    """Return rows as a task gets them from the source."""
    columns = list(zip(*rows, strict=True)) or [[] for _ in filling.SCHEMA]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, filling.SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=filling.SCHEMA)


class Frame:
    """The part of a DataFrame that a batch uses: one row per file."""

    def __init__(self, files):
        self._files = files

    def collect(self):
        return [(json.dumps(file.to_json()),) for file in self._files]


def commit(lake, session, number, files):
    """Commit files with a plan of the same offsets."""
    runs = {file.topic: (file.runs[0].first, file.runs[-1].end) for file in reversed(files)}
    for file in files:
        runs[file.topic] = runs[file.topic][0], max(runs[file.topic][1], file.runs[-1].end)
    filling.plan(lake, session, number, **runs)
    BatchWriter(lake.path, session)(Frame(files), number)
    lake.refresh()


def test_batches_of_a_task_become_one_file_in_order(lake, session):
    stage = new_stage_path(lake.path, "record")
    parts = [filling.messages("a", 0, 300), filling.hole("a", 300, 20, 15), filling.messages("a", 320, 500)]
    files = row_files.write(stage, "a", [batch(rows) for rows in parts], sync=True)
    assert [(file.rows, file.date) for file in files] == [(481, "2026-01-01")]
    commit(lake, session, 0, files)
    assert [row[1] for row in filling.rows(lake, "a")] == [*range(301), *range(320, 500)]
    (found,) = contents(lake)
    assert (found.messages, found.lost, found.abandoned) == (480, 15, 5)
    assert not list((lake.path / "_staging").iterdir())


def test_a_range_with_midnight_in_it_is_cut_there(lake, session):
    midnight = PER_DAY // 2  # filling begins at noon
    rows = filling.messages("a", midnight - 3, midnight + 4) + filling.hole("a", midnight + 4, 1, 1)
    files = row_files.write(new_stage_path(lake.path, "record"), "a", [batch(rows)], sync=False)
    assert [(file.date, file.rows) for file in files] == [("2026-01-01", 3), ("2026-01-02", 5)]
    commit(lake, session, 0, files)
    assert [(run.first, run.end) for run in contents(lake)[0].runs] == [(midnight - 3, midnight + 5)]


def test_a_task_without_rows_writes_nothing(lake, session):
    stage = new_stage_path(lake.path, "record")
    assert row_files.write(stage, "a", [], sync=True) == []
    assert row_files.write(stage, "a", [batch([])], sync=True) == []
    assert not stage.exists()
    commit(lake, session, 0, [])
    assert lake.committed(session, 0)


def test_files_of_a_failed_attempt_are_not_part_of_the_recording(lake, session):
    stage = new_stage_path(lake.path, "record")

    def dies_half_way():
        yield batch(filling.messages("a", 0, 4))
        raise RuntimeError("the worker's topic went away")

    with pytest.raises(RuntimeError):
        row_files.write(stage, "a", dies_half_way(), sync=True)
    files = row_files.write(stage, "a", [batch(filling.messages("a", 0, 9))], sync=True)
    assert len(list(stage.rglob("*.parquet"))) == 2
    commit(lake, session, 0, files)
    assert filling.rows(lake, "a") == filling.expected("a", 9)
    assert not list((lake.path / "_staging").iterdir())


def test_the_tasks_of_a_batch_that_is_recorded_are_not_run_again(lake, session):
    files = row_files.write(
        new_stage_path(lake.path, "record"), "a", [batch(filling.messages("a", 0, 9))], sync=True
    )
    commit(lake, session, 0, files)
    BatchWriter(lake.path, session)(None, 0)
    assert filling.rows(lake, "a") == filling.expected("a", 9)
