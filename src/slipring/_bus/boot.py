# SPDX-License-Identifier: Apache-2.0
"""Which run of the kernel this is. Where /proc/sys is hidden it is unknown, and unknown is not another one."""

from __future__ import annotations

_PATH = "/proc/sys/kernel/random/boot_id"


def boot_id() -> str:
    """Return the id of the kernel's present run; empty if it cannot be read."""
    try:
        with open(_PATH) as file:
            return file.read().strip()
    except OSError:
        return ""


def differ(one: str, other: str) -> bool:
    """Whether two ids are known to be of different runs."""
    return bool(one and other and one != other)
