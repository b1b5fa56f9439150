# SPDX-License-Identifier: Apache-2.0
"""Lakes of an earlier version are opened, verified, read, compacted and recorded into."""

import json

import pyarrow.parquet as pq
import pytest

from lake import filling, old_lakes
from slipring.pipelines.lake import DamagedLake, Lake
from slipring.pipelines.lake.compact import compact
from slipring.pipelines.lake.generations import contents
from slipring.pipelines.lake.log import sealed
from slipring.pipelines.lake.verify import verify
from slipring.pipelines.replay.targets import recorded_settings

RECORDED = {"imu": (300, 0), "camera": (42, 258)}  # messages, lost


@pytest.fixture
def old(tmp_path):
    return old_lakes.unpack(tmp_path)[0]


def recorded(lake):
    return {one.topic: (one.messages, one.lost) for one in contents(lake)}


def bodies(lake, topic):
    tables = [pq.ParquetFile(lake.where(file)).read(["offset", "value"]) for file in lake.files([topic])]
    rows = sorted((row["offset"], row["value"]) for table in tables for row in table.to_pylist())
    return [value for _, value in rows if value is not None]


def test_an_old_lake_is_complete_and_has_its_messages(old):
    verdict = verify(old)
    assert verdict.complete, verdict.problems
    lake = Lake.open(old)
    assert recorded(lake) == RECORDED
    assert bodies(lake, "imu") == [f"imu {number}".encode() for number in range(300)]
    assert {kind for one in contents(lake) for kind in one.types} == {"imu.v1", "image"}
    assert {len(lake.files([topic])) for topic in RECORDED} == {2}, (
        "one merged file, and one of the open session"
    )


def test_the_snapshot_of_an_old_lake_is_used(old):
    (old / "_log/00000003.json").rename(old / "hidden")
    assert recorded(Lake.open(old)) == RECORDED


def test_an_old_lake_is_compacted_and_recorded_into(old):
    lake = Lake.open(old)
    assert compact(lake, keep_s=0).merged == 4
    session = lake.begin({"subscribe": "imu"})
    filling.record(lake, session, 0, ("imu", filling.messages("imu", 0, 5)))
    lake.end(session)
    verdict = verify(old)
    assert verdict.complete, verdict.problems
    assert recorded(Lake.open(old))["camera"] == RECORDED["camera"]
    assert sum(one.messages for one in contents(lake, ["imu"])) == 305


def test_the_settings_of_its_topics_are_known(old):
    settings = recorded_settings(Lake.open(old))
    assert settings["imu"]["delivery"] == "reliable"
    assert (settings["camera"]["slots"], settings["camera"]["writers"]) == (16, "many")


def test_a_delta_table_of_an_old_lake_is_continued(tmp_path, processes):
    path = old_lakes.unpack(tmp_path)[1]
    assert verify(path).complete
    lake = Lake.open(path)
    session = lake.begin({"subscribe": "imu"})
    filling.record(lake, session, 0, ("imu", filling.messages("imu", 0, 5)))
    mirroring = processes.start(
        """
        from deltalake import DeltaTable
        from slipring.pipelines.lake import Lake, delta
        lake = Lake.open(path)
        before = len(DeltaTable(lake.path / "messages").file_uris())
        say(delta.mirror(lake), len(DeltaTable(lake.path / "messages").file_uris()) - before)
        """,
        path=str(path),
        bus_name=None,
    )
    mirroring.expect((1, 1))
    mirroring.join()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda file: file.update(lines=file.pop("rows")), "unknown field `lines` - at `$.add[0]`"),
        (lambda file: file["runs"][0].pop("end"), "missing required field `end` - at `$.add[0].runs[0]`"),
        (
            lambda file: file.update(rows="many"),
            "Expected `int`, got `str` - at `$.add[0].rows`, found 'many'",
        ),
    ],
)
def test_a_field_of_another_name_or_type_is_damage(old, change, problem):
    (old / "_log/00000100.snapshot").unlink()
    path = old / "_log/00000001.json"
    entry = json.loads(path.read_bytes())["entry"]
    change(entry["add"][0])
    path.write_bytes(sealed("entry", entry))
    with pytest.raises(DamagedLake) as caught:
        Lake.open(old)
    assert problem in str(caught.value) and "00000001.json is damaged" in str(caught.value)
