# SPDX-License-Identifier: Apache-2.0
"""The identity of a bus: BOOT_ID@HOST:DEVICE:INODE of its directory, the same text on every host."""

from __future__ import annotations

import os
import socket

from slipring._bus.bus import Bus
from slipring._bus.exactly_once.process_identity import boot_id


def identity_of(bus: Bus) -> str:
    """Return the identity of a bus of this host. The boot id is empty if it is unknown."""
    status = os.stat(bus.path)
    return f"{boot_id()}@{socket.gethostname()}:{status.st_dev}:{status.st_ino}"


def without_host_name(identity: str) -> str:
    """Return the identity without the name of the host, which may change."""
    host, _, directory = identity.partition(":")
    return f"{host.partition('@')[0]}:{directory}"


def is_same(one: str, other: str) -> bool:
    """Compare by boot id, which the containers of one host share; by host name if a boot id is unknown."""
    (host, _, directory), (other_host, _, other_directory) = one.partition(":"), other.partition(":")
    (booted, _, name), (other_booted, _, other_name) = host.partition("@"), other_host.partition("@")
    if directory != other_directory:
        return False
    return booted == other_booted if booted and other_booted else name == other_name
