# SPDX-License-Identifier: Apache-2.0
"""Which host a session was recorded on, and whether that is this one.

A lake may be shared by hosts that have buses of the same name in directories of the same name. A recorder goes on with
a session, or ends it, only where the session's topics are: in the same memory. That is the same bus directory (device
and inode) under the same run of a kernel (boot id): containers share the boot id and not the directory. After a reboot
both are others; then machine id and host name tell whether it is the same machine.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import slipring
from slipring._bus.exactly_once.process_identity import boot_id

from ..lake.model import Json, Session

MACHINE_ID = Path("/etc/machine-id")


def identity(bus: slipring.Bus) -> Json:
    """What a session keeps of the host it is recorded on; what is not known is empty."""
    try:
        found = os.stat(bus.path)
        directory = [found.st_dev, found.st_ino]
    except FileNotFoundError:
        directory = []  # a bus without topics
    return {
        "name": socket.gethostname(),
        "machine": _text(MACHINE_ID),
        "boot": boot_id(),
        "directory": directory,
    }


def is_own(session: Session, bus: slipring.Bus) -> bool:
    """Whether the topics of the session are, or before a reboot were, those of this bus."""
    return _is_same(session.about.get("host"), identity(bus), whole=True)


def may_release(session: Session, bus: slipring.Bus) -> bool:
    """Whether the session can be ended here because somebody asks for it: its bus directory may have been removed and
    made again, on the same file system."""
    return _is_same(session.about.get("host"), identity(bus), whole=False)


def name_of(session: Session) -> str:
    """The host's name, for a message."""
    host = session.about.get("host")
    return str(host.get("name", "?")) if isinstance(host, dict) else "?"


def _is_same(then: Any, now: Json, *, whole: bool) -> bool:
    if not isinstance(then, dict):
        return True  # of a version that did not keep it
    places = [list(one) if isinstance(one, list) else [] for one in (then.get("directory"), now["directory"])]
    if not whole:
        places = [place[:1] for place in places]
    is_same_place = places[0] == places[1] or not all(places)
    is_same_machine = all(then.get(key) == now[key] for key in ("name", "machine"))
    if then.get("boot") and now["boot"]:
        return is_same_place if then["boot"] == now["boot"] else is_same_machine
    return is_same_place and is_same_machine


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
