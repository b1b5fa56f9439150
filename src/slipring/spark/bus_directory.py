# SPDX-License-Identifier: Apache-2.0
"""The identity of a bus directory: recorded where a job is planned, compared where its tasks run.

A path is not enough, because each container has its own /dev/shm. Neither is the boot id, because containers share it
with their host. The identity is the directory's device and inode together with the boot id, which distinguishes hosts.

A bus directory that was removed, or removed and made again, is the same place while the directory above it is the same:
messages that are missing there are lost. In any other place their absence means nothing.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from slipring._bus.exactly_once.process_identity import boot_id

Identity = tuple[int, int]  # device and inode


def this_host() -> tuple[str, str]:
    """Return the host's name and its boot id, which is empty when /proc/sys is hidden."""
    return socket.gethostname(), boot_id()


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _is_below(identity: Identity | None, above: Identity) -> bool:
    """Whether nothing is mounted there: then the directory can only have been removed or made."""
    return identity is None or identity[0] == above[0]


@dataclass(frozen=True)
class BusDirectory:
    """A bus directory as seen by the process that planned the job."""

    path: str
    host: str
    boot: str
    identity: Identity | None  # None: it does not exist
    above: str  # the nearest existing directory above it
    above_identity: Identity

    @classmethod
    def of(cls, path: str) -> BusDirectory:
        host, boot = this_host()
        above = os.path.dirname(path)
        while (found := _identity(above)) is None:
            above = os.path.dirname(above)
        return cls(path, host, boot, _identity(path), above, found)

    def is_seen_here(self) -> bool:
        """Whether this process sees the same directory at that path."""
        host, boot = this_host()
        same_kernel = boot == self.boot if boot and self.boot else host == self.host
        return same_kernel and self.is_seen_under("")

    def is_seen_under(self, root: str) -> bool:
        """Whether a process of this kernel sees it; root: the process's root directory, /proc/<pid>/root."""
        here = _identity(root + self.path)
        if here is not None and here == self.identity:
            return True
        if _identity(root + self.above) != self.above_identity:
            return False
        return _is_below(here, self.above_identity) and _is_below(self.identity, self.above_identity)
