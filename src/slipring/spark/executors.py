# SPDX-License-Identifier: Apache-2.0
"""Do Spark's executors see a bus directory? Asked when a query starts, before it can depend on where a task runs.

check(path)         in a process of the driver's: looks at the executors of this session that run on this machine,
                    in containers too, through /proc. A Python source has no other way to ask.
probe(spark, bus)   in the program that has the session: runs a short job on every executor, wherever it is.

Neither knows an executor that comes later. The tasks themselves check again (tasks.py, sink.py).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipring import local_spark
from slipring._bus.bus import Bus
from slipring._bus.exactly_once import process_identity as life

from .bus_directory import BusDirectory, this_host
from .errors import OtherHost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROC = Path("/proc")
_BACKEND = "ExecutorBackend"  # ends the main class of every executor: standalone, YARN, Kubernetes
_LISTENING = "0A"
_STAY_S = 0.2  # of a probing task, so that every executor gets one


def check(path: str) -> None:
    """Raise OtherHost when an executor of this session, on this machine, does not see the bus directory."""
    driver = life.ancestor("java")
    if not driver or _is_local(_arguments(driver)):
        return
    directory = BusDirectory.of(path)
    ports = _listening_ports(driver)
    for pid, options in _executors():
        host, _, port = options.get("--driver-url", "").rpartition("@")[2].rpartition(":")
        if port not in ports or not _is_this_machine(host):
            continue  # of another session
        try:
            is_seen = directory.is_seen_under(f"{_PROC}/{pid}/root")
        except OSError:
            continue  # it ended, or is another user's: its tasks will find out
        if not is_seen:
            executor = f"executor {options.get('--executor-id', '?')} (process {pid})"
            raise OtherHost(executor, options.get("--hostname", "?"), path, directory.host)


def probe(spark: SparkSession | Any, bus: Bus) -> None:
    """Raise OtherHost when an executor that is registered now does not see the bus directory.

    spark: a session of this process, not one of Spark Connect."""
    context: Any = spark.sparkContext
    if local_spark.is_local(context.master):
        return
    directory, count = BusDirectory.of(bus.path), 2 * context.defaultParallelism
    found = context.parallelize(range(count), count).mapPartitions(lambda _: [_probed(directory)]).collect()
    for executor, host, is_seen in found:
        if not is_seen:
            raise OtherHost(f"executor {executor}", host, bus.path, directory.host)


def _probed(directory: BusDirectory) -> tuple[str, str, bool]:
    """By a task: its executor, host, and what it sees."""
    time.sleep(_STAY_S)
    executor = os.environ.get("SPARK_EXECUTOR_ID") or f"of process {life.ancestor('java')}"
    return executor, this_host()[0], directory.is_seen_here()


def _arguments(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []  # it ended


def _is_local(arguments: Iterable[str]) -> bool:
    """Spares the search through all processes where the driver's command line says that there are no executors."""
    masters = [argument.partition("=") for argument in arguments]
    return any(name == "spark.master" and local_spark.is_local(master) for name, _, master in masters)


def _executors() -> Iterator[tuple[int, dict[str, str]]]:
    """Executors on this machine, of any session: process and options."""
    for name in os.listdir(_PROC):
        if name.isdecimal():
            arguments = _arguments(int(name))
            if any(argument.endswith(_BACKEND) for argument in arguments):
                yield int(name), dict(itertools.pairwise(arguments))


def _listening_ports(pid: int) -> set[str]:
    """The TCP ports on which a process listens."""
    place, sockets, ports = _PROC / str(pid), set(), set()
    for descriptor in os.listdir(place / "fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(place / "fd" / descriptor))
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
            for fields in map(str.split, (place / "net" / name).read_text().splitlines()[1:]):
                if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in sockets:
                    ports.add(str(int(fields[1].rpartition(":")[2], 16)))
    return ports


def _is_this_machine(host: str) -> bool:
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in addresses:
        with socket.socket(family, kind, protocol) as here:
            try:
                here.bind(address)
                return True
            except OSError:
                continue
    return False
