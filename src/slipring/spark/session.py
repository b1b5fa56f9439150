# SPDX-License-Identifier: Apache-2.0
"""A Spark session with settings for streams of topics.

Each setting was measured. Without the first two a micro-batch costs twice as much. Plain local[N] never retries a
failed task. Spark's default of 200 shuffle tasks is too many for small batches.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipring import local_spark
from slipring.errors import BadArgument

from . import java, spark_home, worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # A driver that is killed while it writes its first offsets leaves a temporary file; Spark would refuse to restart.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    "spark.python.daemon.module": "slipring.spark.worker_daemon",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Hadoop's default writes a checksum file beside every file, which takes a quarter of a micro-batch. Spark's checkpoints
# and Parquet's pages have checksums of their own.
RAW_FILES = "org.apache.hadoop.fs.RawLocalFileSystem"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, whose JVM runs the program
ATTEMPTS = 4  # attempts of a task; plain local[N] gives up at the first failure


def session(app_name: str, *, master: str | None = None, **conf: str | int | bool) -> SparkSession:
    """Start or reuse the Spark session of this process.

    master: Spark's master; by default $SPARK_MASTER, or all processors of this machine. "sc://host" connects to
    a Spark Connect server, which has its own settings. conf: more settings, with dots written as double underscores
    (``spark__executor__memory="2g"``) or given as ``**{"spark.executor.memory": "2g"}``.
    """
    if not isinstance(app_name, str) or not app_name:
        raise BadArgument(f"app_name={app_name!r} must be a non-empty string", argument="app_name")
    from pyspark.sql import SparkSession

    where = master or os.environ.get("SPARK_MASTER") or f"local[*,{ATTEMPTS}]"
    builder = SparkSession.builder.appName(app_name)
    if where.startswith("sc://"):
        return builder.remote(where).getOrCreate()
    java.check()
    worker_python.prefer_this()
    settings = dict(SETTINGS)
    is_local = local_spark.is_local(where)
    if is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings["spark.driver.bindAddress"] = settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
        settings["spark.hadoop.fs.file.impl"] = RAW_FILES
    given = {name.replace("__", "."): value for name, value in conf.items()}
    settings |= _quiet(given)
    for name, value in given.items():
        settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
    for name, text in settings.items():
        builder = builder.config(name, text)
    with spark_home.without_archives() if is_local else contextlib.nullcontext():
        found = builder.master(where).getOrCreate()
    if worker_python.settle(found.sparkContext) or _SUBMITTED in os.environ:
        register(found)  # a JVM that ran before looks for formats with its own choice of Python
    return found


def register(spark: SparkSession | Any) -> None:
    """Make ``format("slipring")`` known to a session, and this Python its workers' unless it has another set."""
    from .source.data_source import DefaultSource

    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    if not is_remote:
        worker_python.settle(spark.sparkContext)
    spark.dataSource.register(DefaultSource)
    if is_remote:
        worker_python.check_server(spark, DefaultSource.name())


def _quiet(given: Mapping[str, object]) -> dict[str, str]:
    """Return settings that log only Spark's errors, unless the user has a logging configuration."""
    homes = [os.environ.get("SPARK_CONF_DIR"), os.path.join(os.environ.get("SPARK_HOME", ""), "conf")]
    if any(home and os.path.exists(os.path.join(home, "log4j2.properties")) for home in homes):
        return {}
    if JAVA_OPTIONS in given:
        return {"spark.log.level": "ERROR"}
    return {
        JAVA_OPTIONS: f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    }
