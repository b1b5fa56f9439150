# SPDX-License-Identifier: Apache-2.0
"""A Spark standalone cluster on this machine, with workers that see this host's /dev/shm or one of their own.

    with Cluster(place) as cluster:
        session(master=cluster.url)
        worker = cluster.worker()            # an executor for any application
        stranger = cluster.worker(own_shm=True)
        cluster.end(stranger)

A worker with its own /dev/shm runs in a mount namespace, like a process in a container: it shares the kernel's boot id,
but sees no topic of the host. That requires the right to make a mount namespace: `can_unshare()`.
"""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

from spark import PATIENCE_S
from support.waiting import eventually

UNSHARE = ["unshare", "--mount", "--propagation", "private"]
OWN_SHM = [*UNSHARE, "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def can_unshare() -> bool:
    try:
        return subprocess.run([*OWN_SHM, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


class Cluster:
    def __init__(self, place: Path) -> None:
        self._place, self._running = place, []
        self.url = ""

    def __enter__(self):
        _, log = self._start([], "master.Master", "--port", "0")
        self.url = self._found(log, r"(spark://127\.0\.0\.1:\d+)")
        return self

    def worker(self, own_shm: bool = False) -> subprocess.Popen:
        """Start a worker and wait until the master has registered it."""
        before, work = OWN_SHM if own_shm else [], self._place / f"work-{len(self._running)}"
        options = ("--cores", "1", "--memory", "1g", "--work-dir", str(work), self.url)
        worker, log = self._start(before, "worker.Worker", *options)
        self._found(log, "Successfully registered with master")
        return worker

    def end(self, process: subprocess.Popen) -> None:
        """End a worker and its executors."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        if process in self._running:
            self._running.remove(process)

    def __exit__(self, *exc: object) -> None:
        for process in list(self._running):
            self.end(process)

    def _start(self, before: list[str], what: str, *options: str) -> tuple[subprocess.Popen, Path]:
        import pyspark

        home = Path(pyspark.__file__).parent
        log = self._place / f"{what}-{len(self._running)}.log"
        command = [*before, str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}"]
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--webui-port", "0", *options],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment, start_new_session=True,
            )  # fmt: skip
        self._running.append(process)
        return process, log

    def _found(self, log: Path, pattern: str) -> str:
        def search():
            assert all(process.poll() is None for process in self._running), log.read_text()
            return re.search(pattern, log.read_text())

        return eventually(search, f"{pattern} in {log}", PATIENCE_S)[0]
