# SPDX-License-Identifier: Apache-2.0
"""The identity of processes that cannot hold a lock, such as a Java machine, and of the run of the kernel they are in.

A mark identifies one process: the boot id (empty if unknown), the pid namespace, the pid and the start time. Where the
state of the process cannot be determined (another namespace), it counts as alive: nothing of it is cleared.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")
_BOOT_ID = "sys/kernel/random/boot_id"


def boot_id() -> str:
    """Return the id of the kernel's present run; empty where /proc/sys is hidden."""
    try:
        return (_PROC / _BOOT_ID).read_text().strip()
    except OSError:
        return ""


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on, behind the name, which may hold anything."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _here() -> str:
    return f"{boot_id()} {os.readlink(_PROC / 'self/ns/pid')}"


def mark(pid: int) -> str:
    """Return the mark of a process, for `is_alive`; empty when there is no such process."""
    try:
        return f"{_here()} {pid} {_fields(pid)[19]}"
    except OSError:
        return ""


def ancestor(name: str) -> int:
    """Return the pid of the nearest ancestor of this process with that name, or 0."""
    pid = os.getppid()
    try:
        while pid > 1:
            if (_PROC / str(pid) / "comm").read_text().strip() == name:
                return pid
            pid = int(_fields(pid)[1])
    except OSError:
        return 0  # it ended meanwhile
    return 0


def is_alive(marked: str) -> bool:
    """Return whether the process of a mark may still run."""
    booted, _, rest = marked.partition(" ")
    namespace, _, process = rest.partition(" ")
    pid, _, began = process.partition(" ")
    if not pid.isdecimal():
        return False  # an empty mark
    here_boot, _, here_namespace = _here().partition(" ")
    if booted and here_boot and booted != here_boot:  # an unknown run of the kernel is not another one
        return False
    if namespace != here_namespace:
        return True
    try:
        return _fields(int(pid))[19] == began
    except OSError:
        return False
