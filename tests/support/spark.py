# SPDX-License-Identifier: Apache-2.0
"""Spark for tests: a session that starts fast, and what the leak check has to know about one.

fast_settings()        settings of a session, also of one in a child process: little memory, a quick JVM whose
                       classes come from an archive. That is made once, in build/spark-classes, by a session
                       that reads, aggregates, streams and writes a little. Never measure with these settings.
quick_environment()    the same for programs that make their own sessions: a variable of the environment
shared_session(dir)    the session of this process
end_session(session)   ends its JVM too, so that the tests after these find no child
SparkSnapshot          a leaks.Snapshot that knows Spark's own sockets and threads
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import leaks

ARCHIVES = Path(__file__).parents[2] / "build" / "spark-classes"
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xlog:disable"
MASTER = "local[2,4]"
ARCHIVING_S = 300

WARM_UP = """
import sys, slipring.spark
place, options = sys.argv[1:]
spark = slipring.spark.session("classes", master="local[1]", **{
    "spark.driver.extraJavaOptions": options, "spark.sql.warehouse.dir": place + "/warehouse"})
frame = spark.range(100).selectExpr("id", "cast(id as string) as text", "timestamp_seconds(id) as time")
frame.groupBy("text").count().orderBy("text").collect()
frame.write.mode("overwrite").parquet(place + "/table")
back = spark.read.parquet(place + "/table")
back.mapInArrow(lambda batches: batches, back.schema).count()
stream = spark.readStream.schema(back.schema).parquet(place + "/table").selectExpr("id", "text")
query = (stream.writeStream.trigger(availableNow=True).option("checkpointLocation", place + "/checkpoint")
         .format("parquet").start(place + "/copy"))
query.awaitTermination()
query = (stream.writeStream.trigger(availableNow=True).option("checkpointLocation", place + "/checkpoint2")
         .foreachBatch(lambda batch, number: batch.count()).start())
query.awaitTermination()
spark.stop()
"""


def _key() -> str:
    """Of the Java and the classes an archive is good for."""
    import pyspark

    from slipring.spark import java, spark_home

    said = subprocess.run([java.executable(), "-version"], capture_output=True, text=True).stderr
    jars = Path(pyspark.__file__).parent / "jars"
    facts = (said, jars, spark_home._prepared(), jars.stat().st_mtime_ns, pyspark.__version__)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def class_archive() -> Path:
    """The archive of Spark's classes; made when it is not there."""
    path = ARCHIVES / f"{_key()}.jsa"
    if path.exists():
        return path
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(ARCHIVES / "lock"), tempfile.TemporaryDirectory(dir=ARCHIVES) as place:
        if path.exists():  # another test process has made it meanwhile
            return path
        made = Path(place) / "classes.jsa"
        options = f"{QUICK_JVM} -XX:ArchiveClassesAtExit={made}"
        command = [sys.executable, "-c", WARM_UP, place, options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=ARCHIVING_S)
        assert done.returncode == 0 and made.exists(), f"no class archive was made\n{done.stderr}"
        os.replace(made, path)
    return path


def fast_settings() -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} -XX:SharedArchiveFile={class_archive()}",
        "spark.driver.memory": "1g",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
    }


def quick_environment() -> dict[str, str]:
    """The same for programs that make their own sessions."""
    java = f"{QUICK_JVM} -XX:SharedArchiveFile={class_archive()}"
    return {"JDK_JAVA_OPTIONS": java, "XDG_CACHE_HOME": str(ARCHIVES.parent / "cache")}


def shared_session(place: Path, **more: str):
    import slipring.spark

    places = {"spark.sql.warehouse.dir": str(place / "warehouse"), "spark.local.dir": str(place / "local")}
    return slipring.spark.session("tests", master=MASTER, **fast_settings(), **places, **more)


def end_session(session) -> None:
    from pyspark import SparkContext

    session.stop()
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM ends when this pipe does
    gateway.proc.wait(60)


def _is_sparks(thread: threading.Thread) -> bool:
    """Threads that answer calls of the JVM (foreachBatch, listeners) live as long as its connection."""
    target = getattr(thread, "_target", None)
    return any(
        type(owner).__module__.startswith(("py4j.", "pyspark."))
        for owner in (thread, getattr(target, "__self__", None))
    )


class SparkSnapshot(leaks.Snapshot):
    """Sockets are Spark's: nothing of Slipring's under these tests has any, all it has are files and maps."""

    ordinary = (*leaks.ORDINARY, "socket:")

    def fresh_threads(self) -> set[threading.Thread]:
        return {thread for thread in super().fresh_threads() if not _is_sparks(thread)}
