# SPDX-License-Identifier: Apache-2.0
"""On which host a session was recorded, and whether that is this one.

Hosts may share a lake, and have buses of the same name in directories of the same name. A recorder resumes or ends a
session only where the topics of the session are, in the same memory. That is the same bus directory (device and inode)
under the same boot of a kernel (boot id): containers share the boot id and have other directories. A reboot changes
both. Then machine id and host name identify the machine.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec

import slipring
from slipring._bus.exactly_once.process_identity import boot_id

from ..lake.model import Session

MACHINE_ID = Path("/etc/machine-id")


class Host(msgspec.Struct, frozen=True):
    """`host` in the description of a session. An unknown field is empty."""

    name: str = ""
    machine: str = ""
    boot: str = ""
    directory: list[int] = msgspec.field(default_factory=list)  # device and inode


def identity(bus: slipring.Bus) -> Host:
    """Return the host of this bus, as a session keeps it."""
    try:
        found = os.stat(bus.path)
        directory = [found.st_dev, found.st_ino]
    except FileNotFoundError:
        directory = []  # a bus without topics
    return Host(socket.gethostname(), _text(MACHINE_ID), boot_id(), directory)


def is_own(session: Session, bus: slipring.Bus) -> bool:
    """Whether the topics of the session are those of this bus, or were before a reboot."""
    return _is_same(session, identity(bus), device_only=False)


def may_release(session: Session, bus: slipring.Bus) -> bool:
    """Whether the session can be ended here on request: its bus directory may have been removed and made again, on the
    same file system."""
    return _is_same(session, identity(bus), device_only=True)


def name_of(session: Session) -> str:
    """The host's name, for a message."""
    return _host_of(session).name or "?"


def _host_of(session: Session) -> Host:
    """The host that a session was recorded on; an unknown one if its description is not valid."""
    try:
        return msgspec.convert(session.about.get("host"), Host)
    except msgspec.ValidationError:
        return Host()


def _is_same(session: Session, now: Host, *, device_only: bool) -> bool:
    if not isinstance(session.about.get("host"), dict):
        return True  # written by a version without hosts
    then = _host_of(session)
    before, here = then.directory, now.directory
    if device_only:
        before, here = before[:1], here[:1]
    is_same_directory = before == here or not (before and here)
    is_same_machine = (then.name, then.machine) == (now.name, now.machine)
    if then.boot and now.boot:
        return is_same_directory if then.boot == now.boot else is_same_machine
    return is_same_directory and is_same_machine


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
