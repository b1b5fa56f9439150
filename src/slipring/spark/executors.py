# SPDX-License-Identifier: Apache-2.0
"""Check that Spark's executors see a bus directory, when a query starts and before a task runs in the wrong place.

check(path)         in a process of the driver: inspects the executors of this session on this machine through /proc,
                    also those in containers. A Python source has no other way to find them.
probe(spark, bus)   in the program that has the session: runs a short job on every executor, on any host.

Both miss executors that start later. Therefore tasks check again (source/tasks.py, sink/writer.py).
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
from slipring._bus.exactly_once import process_identity

from .bus_directory import BusDirectory, this_host
from .errors import OtherHost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROC = Path("/proc")
_BACKEND = "ExecutorBackend"  # end of the name of every executor's main class: standalone, YARN, Kubernetes
_LISTENING = "0A"  # state of a socket in /proc/net/tcp
_STAY_S = 0.2  # duration of a probing task, so that every executor gets one


def check(path: str) -> None:
    """Raise OtherHost if an executor of this session on this machine does not see the bus directory."""
    driver = process_identity.ancestor("java")
    if not driver or _is_local(_arguments(driver)):
        return
    directory = BusDirectory.of(path)
    ports = _listening_ports(driver)
    for pid, options in _executors():
        host, _, port = options.get("--driver-url", "").rpartition("@")[2].rpartition(":")
        if port not in ports or not _is_this_machine(host):
            continue  # it belongs to another session
        try:
            is_seen = directory.is_seen_under(f"{_PROC}/{pid}/root")
        except OSError:
            continue  # it ended, or belongs to another user: its tasks will check
        if not is_seen:
            executor = f"executor {options.get('--executor-id', '?')} (process {pid})"
            raise OtherHost(executor, options.get("--hostname", "?"), path, directory.host)


def probe(spark: SparkSession | Any, bus: Bus) -> None:
    """Raise OtherHost if a registered executor does not see the bus directory.

    spark: a session of this process, not of Spark Connect."""
    context: Any = spark.sparkContext
    if local_spark.is_local(context.master):
        return
    directory, count = BusDirectory.of(bus.path), 2 * context.defaultParallelism
    found = context.parallelize(range(count), count).mapPartitions(lambda _: [_probed(directory)]).collect()
    for executor, host, is_seen in found:
        if not is_seen:
            raise OtherHost(f"executor {executor}", host, bus.path, directory.host)


def _probed(directory: BusDirectory) -> tuple[str, str, bool]:
    """Return, from within a task, its executor, its host and whether it sees the directory."""
    time.sleep(_STAY_S)
    executor = os.environ.get("SPARK_EXECUTOR_ID") or f"of process {process_identity.ancestor('java')}"
    return executor, this_host()[0], directory.is_seen_here()


def _arguments(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []  # it ended


def _is_local(arguments: Iterable[str]) -> bool:
    """Whether the driver's command line rules out executors: then no search through all processes is needed."""
    masters = [argument.partition("=") for argument in arguments]
    return any(name == "spark.master" and local_spark.is_local(master) for name, _, master in masters)


def _executors() -> Iterator[tuple[int, dict[str, str]]]:
    """Return the process and the options of each executor on this machine, of any session."""
    for name in os.listdir(_PROC):
        if name.isdecimal():
            arguments = _arguments(int(name))
            if any(argument.endswith(_BACKEND) for argument in arguments):
                yield int(name), dict(itertools.pairwise(arguments))


def _listening_ports(pid: int) -> set[str]:
    """Return the TCP ports on which a process listens."""
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
