# SPDX-License-Identifier: Apache-2.0
"""What a test may not leave behind: descriptors, mappings, child processes, threads, files.

Snapshot()            what is there now
snapshot.leaks()      sentences about what is there now and was not then
stray_files(root)     names in a bus root that are nothing whole: temporary names, half topics
"""

import gc
import os
import re
import threading
from pathlib import Path

SHM = Path("/dev/shm")
SESSION_PREFIX = f"slipring-test-{os.getpid()}-"
DEFAULT_ROOT = SHM / f"{SESSION_PREFIX}default"  # $SLIPRING_ROOT of the whole session: must stay unused
ORDINARY = ("/dev/urandom", "/dev/null", "/proc/", "anon_inode:[eventpoll]")
THREADS_END_S = 5.0
WHOLE_FILES = {".cells"}  # kinds of one file each
OUTBOX = re.compile(r"\.outbox-\d+/[^/]+/[^/]+/(lock|done|.+\.[0-9a-f]{32})")  # where a query has come to


def _descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the descriptor of this listing
    return found


def _mappings() -> set[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if SESSION_PREFIX in line}


def _shm_names() -> set[str]:
    return {name for name in os.listdir(SHM) if name.startswith(SESSION_PREFIX)}


def _children() -> set[int]:
    """Process numbers, also of those that ended and were not reaped."""
    found = set()
    for path in Path("/proc/self/task").glob("*/children"):
        try:
            found |= {int(pid) for pid in path.read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that ended; its children are another's now, or were reaped
    return found


class Snapshot:
    ordinary = ORDINARY

    def __init__(self) -> None:
        self.children = _children()
        self.descriptors = _descriptors()
        self.mappings = _mappings()
        self.shm_names = _shm_names()
        self.threads = set(threading.enumerate())

    def leaks(self) -> list[str]:
        found = self._handles()
        if found:
            gc.collect()  # a cycle through a caught exception may still keep a handle, which is not a leak
            found = self._handles()
        left = _children() - self.children
        found += [f"child process {pid} is left (alive or not reaped)" for pid in sorted(left)]
        found += [f"/dev/shm/{name} is left" for name in sorted(_shm_names() - self.shm_names)]
        for thread in self.fresh_threads():
            thread.join(THREADS_END_S)
            if thread.is_alive():
                found.append(f"{thread!r} is left")
        return found

    def fresh_threads(self) -> set[threading.Thread]:
        return set(threading.enumerate()) - self.threads

    def _handles(self) -> list[str]:
        fresh = [
            f"descriptor {fd} -> {target} is left open"
            for fd, target in _descriptors().items()
            if self.descriptors.get(fd) != target and not target.startswith(self.ordinary)
        ]
        return fresh + [f"{path} is still mapped" for path in _mappings() - self.mappings]


def stray_files(root: Path) -> list[str]:
    topic_file = re.compile(r"(?P<topic>[A-Za-z0-9_][A-Za-z0-9_.-]{0,99})\.(ring|readers|frames)")
    strays = []
    for path in root.rglob("*"):
        kept = OUTBOX.fullmatch(str(path.relative_to(root)))
        if path.is_dir() or path.suffix in WHOLE_FILES or kept:
            continue
        match = topic_file.fullmatch(path.name)
        if match is None:
            strays.append(f"{path} is no file of a topic")
        elif any(not path.with_name(match["topic"] + end).exists() for end in (".ring", ".readers")):
            strays.append(f"{path} is half a topic")
    return strays
