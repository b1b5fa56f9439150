# SPDX-License-Identifier: Apache-2.0
"""``slipring lake``: recordings listed, verified and compacted from the shell, without Spark."""

import json
import subprocess
import sys

import pytest

from lake import filling
from slipring.pipelines.lake import Lake


@pytest.fixture
def lake(tmp_path):
    lake = Lake.create(tmp_path / "lake")
    session = lake.begin({})
    for batch in range(4):
        rows = filling.messages("imu", batch * 10, batch * 10 + 10)
        filling.record(lake, session, batch, ("imu", rows))
    filling.record(
        lake, session, 4, ("imu", filling.hole("imu", 40, 5, 3)), ("gps", filling.messages("gps", 7, 9))
    )
    return lake


def test_ls_shows_topics_ranges_and_losses(cli, lake):
    gps, imu = cli.records("lake", "ls", str(lake.path), "--format", "json")
    assert (gps["topic"], gps["messages"], gps["runs"]) == ("gps", 2, [{"first": 7, "end": 9}])
    assert (imu["messages"], imu["lost"], imu["abandoned"], imu["files"]) == (40, 3, 2, 5)
    assert imu["types"] == ["imu.v1"] and imu["first_time_ns"] == filling.NOON_NS
    shown = cli.run("lake", "ls", str(lake.path))
    assert "0-44" in shown.stdout.decode() and "is open" in shown.stderr


def test_verify_reports_complete_or_names_the_damage_with_code_1(cli, lake):
    path = str(lake.path)
    assert cli.run("lake", "verify", path).stdout.startswith(b"complete: 42 messages, 3 lost, in 6 files")
    file = lake.path / lake.files(["imu"])[2].path
    file.write_bytes(file.read_bytes()[:-1])
    shown = cli.run("lake", "verify", path, code=1).stdout.decode()
    assert file.name in shown and "1 problem" in shown
    (told,) = cli.records("lake", "verify", path, "--format", "json", code=1)
    assert not told["complete"] and told["problems"][0]["where"].endswith(file.name)


def test_compact_merges_and_the_recording_stays_complete(cli, lake):
    path = str(lake.path)
    assert cli.records("lake", "compact", path, "--keep", "0", "--format", "json") == [
        {"merged": 5, "into": 1, "cleared": 5}
    ]
    assert cli.run("lake", "compact", path).stdout == b"0 files merged into 0; 0 replaced files deleted\n"
    assert cli.run("lake", "verify", path).stdout.startswith(b"complete: 42 messages, 3 lost, in 2 files")


@pytest.mark.parametrize("verb", ["ls", "verify", "compact"])
def test_what_is_not_a_lake_is_one_line_and_code_1(cli, tmp_path, verb):
    shown = cli.run("lake", verb, str(tmp_path / "nowhere"), code=1)
    assert shown.stderr.count("\n") == 1 and "is not a lake" in shown.stderr and not shown.stdout


def test_a_damaged_log_is_named_by_each_verb(cli, lake):
    (lake.path / "_log" / "00000002.json").write_text("{}")
    for verb in ("ls", "compact"):
        assert "00000002.json is damaged" in cli.run("lake", verb, str(lake.path), code=1).stderr
    assert b"_log/00000002.json: is damaged" in cli.run("lake", "verify", str(lake.path), code=1).stdout


def test_record_rejects_wrong_arguments_before_spark_starts(cli, tmp_path):
    assert "TOPICS" in cli.run("record", "--to", str(tmp_path / "x"), code=2).stderr
    assert "is not above zero" in cli.run("record", "t", "--to", "x", "--for", "0", code=2).stderr
    assert "is not a number" in cli.run("record", "--to", "x", "--pre-buffer", "t", code=2).stderr
    assert "has no topic 't'" in cli.run("record", "t", "--to", str(tmp_path / "x"), code=1).stderr
    assert not (tmp_path / "x").exists()
    assert "is not a lake" in cli.run("record", "--to", str(tmp_path / "x"), "--release", code=1).stderr


def test_inspecting_a_lake_loads_neither_spark_nor_pyarrow(lake):
    code = f"""if True:
        import json, sys
        from slipring.pipelines.lake import Lake
        from slipring.pipelines.lake.generations import contents

        contents(Lake.open({str(lake.path)!r}))
        print(json.dumps(sorted({{"pyspark", "pyarrow", "numpy"}} & set(sys.modules))))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
