# SPDX-License-Identifier: Apache-2.0
"""Which directory a bus is: noted where a job is planned, compared where its tasks run.

A path says little: containers have a /dev/shm of their own, and a kernel's boot id too, which they share with their
host. Device and inode of the directory say it, together with the boot id, which tells hosts apart.

A bus directory that was removed, or removed and made again, is in the same place as long as the directory above it is
the same: what is missing there is loss. Anything else is another place, and says nothing about the topic.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from slipring._bus.exactly_once.process_identity import boot_id

Identity = tuple[int, int]  # device and inode


def this_host() -> tuple[str, str]:
    """Its name, and the id of its kernel's present run; empty when /proc/sys is hidden."""
    return socket.gethostname(), boot_id()


def _identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _is_below(identity: Identity | None, above: Identity) -> bool:
    """Nothing is mounted there: it can only have been removed or made."""
    return identity is None or identity[0] == above[0]


@dataclass(frozen=True)
class BusDirectory:
    """A bus directory as the process saw it that planned the job."""

    path: str
    host: str
    boot: str
    identity: Identity | None  # None: it is not there
    above: str  # the nearest directory above it that is there
    above_identity: Identity

    @classmethod
    def of(cls, path: str) -> BusDirectory:
        host, boot = this_host()
        above = os.path.dirname(path)
        while (found := _identity(above)) is None:
            above = os.path.dirname(above)
        return cls(path, host, boot, _identity(path), above, found)

    def is_seen_here(self) -> bool:
        """Whether this process has the same directory at that path."""
        host, boot = this_host()
        same_kernel = boot == self.boot if boot and self.boot else host == self.host
        return same_kernel and self.is_seen_under("")

    def is_seen_under(self, root: str) -> bool:
        """The same for a process of this kernel, by its root directory: /proc/<pid>/root."""
        here = _identity(root + self.path)
        if here is not None and here == self.identity:
            return True
        if _identity(root + self.above) != self.above_identity:
            return False
        return _is_below(here, self.above_identity) and _is_below(self.identity, self.above_identity)
