# SPDX-License-Identifier: Apache-2.0
"""A hostile recording with correct check sums: nothing outside of the lake is read, moved or deleted."""

import json
import os

import pytest

from lake import filling
from slipring.pipelines.lake import Lake, compact
from slipring.pipelines.lake.errors import DamagedLake
from slipring.pipelines.lake.log import sealed
from slipring.pipelines.lake.verify import verify

OUTSIDE = [
    "../outside",
    "/etc/passwd",
    "messages/../../outside",
    "messages/topic=a/date=2026-01-01/../../../../outside.parquet",
    "messages/topic=a/date=2026-01-01/\0.parquet",
    "messages/topic=b/date=2026-01-01/of-another-topic.parquet",
    None,
    7,
]


@pytest.fixture
def recorded(lake, session, tmp_path):
    (tmp_path / "outside").write_text("mine")
    filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    return lake


def forge(lake, number: int, change) -> None:
    """Change the log entry of that number, and give it its correct check sum."""
    path = lake.log.path(number)
    entry = json.loads(path.read_bytes())["entry"]
    change(entry)
    path.write_bytes(sealed("entry", entry))


def refused(lake) -> None:
    with pytest.raises(DamagedLake):
        Lake.open(lake.path)
    with pytest.raises(DamagedLake):
        verify(lake.path)


@pytest.mark.parametrize("field", ["path", "staged"])
@pytest.mark.parametrize("place", OUTSIDE)
def test_a_file_outside_of_the_lake_is_refused_and_not_touched(recorded, tmp_path, field, place):
    if field == "staged" and isinstance(place, str) and place.startswith("messages/topic=b"):
        place = "_staging/../../outside"
    forge(recorded, 1, lambda entry: entry["add"][0].update({field: place}))
    refused(recorded)
    assert (tmp_path / "outside").read_text() == "mine"


@pytest.mark.parametrize("place", OUTSIDE[:4])
def test_a_forged_compaction_does_not_delete_files_outside_of_the_lake(recorded, tmp_path, place):
    entry = {"kind": "compaction", "time_ns": 1, "add": [], "remove": [place]}
    recorded.log.path(2).write_bytes(sealed("entry", entry))
    refused(recorded)
    snapshot = recorded.state.to_json() | {"replaced": {place: 1}}
    recorded.log.path(2).unlink()
    (recorded.path / "_log/00000002.snapshot").write_bytes(sealed("state", snapshot))
    lake = Lake.open(recorded.path)  # the snapshot is ignored, and the entries do not have that
    compact.clear(lake, 0)
    assert (tmp_path / "outside").read_text() == "mine"


def test_no_file_is_moved_through_a_link_that_leads_out_of_the_lake(recorded, tmp_path):
    file = recorded.files()[0]
    (recorded.path / file.staged).parent.mkdir(parents=True)
    os.rename(recorded.path / file.path, recorded.path / file.staged)
    place = (recorded.path / file.path).parent
    place.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place.symlink_to(elsewhere)
    with pytest.raises(DamagedLake, match="leads out of the lake"):
        Lake.open(recorded.path)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["_slipring.json", "_log/00000001.json", "_topics/a.json"])
def test_deeply_nested_json_is_damage(recorded, name):
    (recorded.path / name).parent.mkdir(exist_ok=True)
    (recorded.path / name).write_bytes(b'{"a":' * 100_000)
    if name == "_topics/a.json":
        assert [problem.where for problem in verify(recorded.path).problems] == [name]
    else:
        with pytest.raises(DamagedLake):
            Lake.open(recorded.path)
