# SPDX-License-Identifier: Apache-2.0
"""A Spark session with the settings that matter for streams of topics.

Each was measured: without the first two a micro-batch costs twice as much, with plain local[N] a task that fails is
never tried again, and shuffles of small batches should not make 200 tasks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipring import local_spark
from slipring.errors import BadArgument

from . import home, interpreter, java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # A driver killed while it writes its first offsets leaves a temporary file, for which Spark would refuse to go on.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    "spark.python.daemon.module": "slipring.spark.worker_daemon",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Without a file of Hadoop's check sums beside every file: a quarter of a micro-batch. Spark has sums of its own in its
# checkpoints, Parquet in its pages.
RAW_FILES = "org.apache.hadoop.fs.RawLocalFileSystem"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, whose JVM runs the program
ATTEMPTS = 4  # of a task: plain local[N] gives up at the first failure


def session(app_name: str, *, master: str | None = None, **conf: str | int | bool) -> SparkSession:
    """The Spark session of this process, started or reused.

    master: as Spark has it; by default $SPARK_MASTER, or all processors of this machine. "sc://host" connects to
    a Spark Connect server, which has its own settings. conf: more settings, dots written as double underscores
    (``spark__executor__memory="2g"``) or given as ``**{"spark.executor.memory": "2g"}``.
    """
    if not isinstance(app_name, str) or not app_name:
        raise BadArgument("app_name must be a text that is not empty", argument="app_name")
    from pyspark.sql import SparkSession

    where = master or os.environ.get("SPARK_MASTER") or f"local[*,{ATTEMPTS}]"
    builder = SparkSession.builder.appName(app_name)
    if where.startswith("sc://"):
        return builder.remote(where).getOrCreate()
    java.check()
    interpreter.prefer_this()
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
    with home.without_archives() if is_local else contextlib.nullcontext():
        found = builder.master(where).getOrCreate()
    if interpreter.settle(found.sparkContext) or _SUBMITTED in os.environ:
        register(found)  # the JVM was there before, and looks for formats with the Python it was told
    return found


def register(spark: SparkSession | Any) -> None:
    """Make ``format("slipring")`` known to this session; its Python is this one, unless it was told another."""
    from .source.data_source import DefaultSource

    is_remote = type(spark).__module__.startswith("pyspark.sql.connect")
    if not is_remote:
        interpreter.settle(spark.sparkContext)
    spark.dataSource.register(DefaultSource)
    if is_remote:
        interpreter.check_server(spark, DefaultSource.name())


def _quiet(given: Mapping[str, object]) -> dict[str, str]:
    """Spark's log tells errors and not how it starts, unless there is a configuration of the user's own."""
    homes = [os.environ.get("SPARK_CONF_DIR"), os.path.join(os.environ.get("SPARK_HOME", ""), "conf")]
    if any(home and os.path.exists(os.path.join(home, "log4j2.properties")) for home in homes):
        return {}
    if JAVA_OPTIONS in given:
        return {"spark.log.level": "ERROR"}
    return {
        JAVA_OPTIONS: f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    }
