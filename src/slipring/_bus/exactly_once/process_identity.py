# SPDX-License-Identifier: Apache-2.0
"""Whether a process lives that cannot be asked to hold a lock: a Java machine, say.

A mark names a process for good: the machine's start (empty if unknown), the pid namespace, the pid and when it began.
Where it cannot be told (another namespace), the answer is that it lives: nothing of it is cleared.
"""

from __future__ import annotations

import os
from pathlib import Path

from .. import boot

_PROC = Path("/proc")


def _fields(pid: int) -> list[str]:
    """From the state on: what follows the name, which may hold anything."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _here() -> str:
    return f"{boot.boot_id()} {os.readlink(_PROC / 'self/ns/pid')}"


def mark(pid: int) -> str:
    """What is_alive takes; empty when there is no such process."""
    try:
        return f"{_here()} {pid} {_fields(pid)[19]}"
    except OSError:
        return ""


def ancestor(name: str) -> int:
    """The nearest process of that name above this one; 0 when there is none."""
    pid = os.getppid()
    try:
        while pid > 1:
            if (_PROC / str(pid) / "comm").read_text().strip() == name:
                return pid
            pid = int(_fields(pid)[1])
    except OSError:
        return 0  # it ended while we looked
    return 0


def is_alive(marked: str) -> bool:
    booted, _, rest = marked.partition(" ")
    namespace, _, process = rest.partition(" ")
    pid, _, began = process.partition(" ")
    if not pid.isdecimal():
        return False  # nobody's
    here_boot, _, here_namespace = _here().partition(" ")
    if boot.differ(booted, here_boot):
        return False
    if namespace != here_namespace:
        return True
    try:
        return _fields(int(pid))[19] == began
    except OSError:
        return False
