# SPDX-License-Identifier: Apache-2.0
"""Spark's Python processes import the installed PySpark, not Spark's archive of it."""

import os
import sys
from pathlib import Path

import pyspark
import pytest

from slipring import local_spark
from slipring.spark import spark_home

INSTALLED = Path(pyspark.__file__).parent


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return the home for Java in a process that starts its first session."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return tmp_path / "slipring"


def home_for_java() -> Path | None:
    with spark_home.without_archives():
        found = os.environ.get("SPARK_HOME")
    return Path(found) if found else None


def test_workers_of_a_session_import_the_installed_pyspark(spark):
    def imported(batches):
        import pyarrow as pa
        import pyspark

        yield pa.record_batch({"path": [pyspark.__file__]})

    (row,) = spark.range(1).coalesce(1).mapInArrow(imported, "path string").collect()
    assert Path(row.path).parent == INSTALLED


def test_the_home_is_complete_but_for_archives_and_set_only_while_java_starts(cache):
    found = home_for_java()
    assert found.parent.parent == cache and (found / "bin/spark-submit").is_file()
    assert list((found / "jars").glob("spark-core*.jar")) and not (found / "python").exists()
    assert "SPARK_HOME" not in os.environ
    assert home_for_java() == found
    assert list(cache.iterdir()) == [found.parent]
    assert sorted(path.name for path in found.parent.iterdir()) == ["home", "installed"]


def test_a_spark_home_or_python_chosen_by_the_user_is_kept(cache, monkeypatch, tmp_path):
    other = tmp_path / "python3"
    other.symlink_to(sys.executable)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    assert home_for_java() is None
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert home_for_java() == Path("/opt/spark")
    assert not cache.exists()


def test_a_home_that_other_users_can_change_or_that_leads_elsewhere_is_not_used(cache, tmp_path):
    found = home_for_java()
    for directory in (found, *found.parents[:2]):
        directory.chmod(0o777)
        assert home_for_java() is None
        directory.chmod(0o700)
    assert home_for_java() == found
    (found / "bin").unlink()
    (found / "bin").symlink_to(tmp_path)
    assert home_for_java() is None


def test_without_a_directory_for_caches_spark_starts_as_usual(cache):
    cache.parent.rmdir()
    cache.parent.write_text("not a directory")
    assert home_for_java() is None
    cache.parent.unlink()
    cache.parent.mkdir()


def test_the_cache_of_a_removed_installation_is_deleted(cache):
    cache.mkdir(mode=0o700)
    stale = cache / "spark-0123456789abcdef"
    stale.mkdir()
    (stale / "installed").symlink_to("/nowhere/pyspark")
    (stale / "classes.jsa").write_bytes(b"large")
    assert home_for_java() is not None
    assert not stale.exists()


@pytest.mark.parametrize(
    ("master", "is_local"),
    [("local", True), ("local[2,4]", True), ("local-cluster[2,1,1024]", False), ("spark://localhost", False)],
)
def test_a_master_is_local_when_all_of_spark_is_one_process(master, is_local):
    assert local_spark.is_local(master) is is_local
