# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine: space, kernel features, limits, page size, clock, Java.

With a *problem* Slipring does not work. With a *warning* it is slower, or a part of it does not work.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib.util
import os
import platform
import resource
import struct
from typing import NamedTuple

import slipring
from slipring._bus.exactly_once.process_identity import boot_id
from slipring.units import number, size

OK, WARNING, PROBLEM = "ok", "warning", "problem"
_PAGE = 4096
_DEFAULT_TOPIC = 16 << 20  # a publisher's default capacity
_FEW_FILES = 256  # a handle takes up to three descriptors
_FUTEX_WAITV = 449  # on every architecture
_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "xen")  # read by system calls


class Check(NamedTuple):
    check: str
    value: str
    state: str
    advice: str = ""


def checks(bus: slipring.Bus) -> list[Check]:
    """Check this machine for ``bus``; check the space only if the bus is on this machine."""
    space = [_space(bus.root)] if "://" not in bus.root else []
    kernel = [_page_size(), _kernel(), _waitv(), _locks(bus.root), _memfd(), _boot_id()]
    return [*space, *kernel, _files(), _locked(), _clock(), _java()]


def _existing(path: str) -> str:
    """Return the directory itself, or the nearest existing directory above it."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def _space(root: str) -> Check:
    name = f"space in {root}"
    try:
        found = os.statvfs(_existing(root))
    except OSError as error:
        return Check(name, error.strerror or str(error), WARNING, "choose another --root")
    free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    value = f"{size(free)} of {size(total)} free"
    if free >= 2 * _DEFAULT_TOPIC:
        return Check(name, value, OK)
    advice = f"a topic takes {size(_DEFAULT_TOPIC)} by default: `slipring rm`, a smaller capacity or another --root"
    return Check(name, value, WARNING, advice)


def _page_size() -> Check:
    found = os.sysconf("SC_PAGE_SIZE")
    if found == _PAGE:
        return Check("page size", size(found), OK)
    return Check("page size", size(found), PROBLEM, f"topics need pages of {size(_PAGE)}: use another kernel")


def _kernel() -> Check:
    machine = platform.machine()
    value = f"{platform.system()} {platform.release().split('-')[0]} {machine}"
    if machine == "x86_64":
        return Check("kernel", value, OK)
    return Check("kernel", value, WARNING, "only x86_64 is tested")


def _waitv() -> Check:
    """Call it without anything to wait for: a kernel that has the call reports a wrong argument."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(_FUTEX_WAITV, None, 0, 0, None, 0)
    found = ctypes.get_errno()
    if found == errno.EINVAL:
        return Check("futex_waitv", "yes", OK)
    advice = (
        "waits on several topics poll instead: use Linux 5.16 or later, or let the container's filter pass it"
    )
    return Check("futex_waitv", os.strerror(found), WARNING, advice)


def _locks(root: str) -> Check:
    """Check locks of open file descriptions, on an unnamed file in the bus's file system where possible."""
    request = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    try:
        descriptor = _unnamed_file(root)
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
        finally:
            os.close(descriptor)
    except OSError as error:
        advice = "these locks show which processes are alive: use another kernel or another --root"
        return Check("OFD locks", error.strerror or str(error), PROBLEM, advice)
    return Check("OFD locks", "yes", OK)


def _unnamed_file(root: str) -> int:
    try:
        return os.open(root, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError:  # no such directory, no write permission, or a file system without unnamed files
        return os.memfd_create("slipring-doctor")


def _memfd() -> Check:
    try:
        os.close(os.memfd_create("slipring-doctor"))
    except OSError as error:
        return Check(
            "memfd", error.strerror or str(error), WARNING, "let the container's filter pass memfd_create"
        )
    return Check("memfd", "yes", OK)


def _boot_id() -> Check:
    if boot_id():
        return Check("boot id", "known", OK)
    advice = "topics on a disk are refused: make /proc/sys/kernel/random/boot_id readable for this process"
    return Check("boot id", "not known", WARNING, advice)


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else number(value)


def _files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    value = f"{_limit(soft)} (at most {_limit(hard)})"
    if soft == resource.RLIM_INFINITY or soft >= _FEW_FILES:
        return Check("open files", value, OK)
    return Check("open files", value, WARNING, "each handle takes some: raise it with `ulimit -n`")


def _locked() -> Check:
    """Report the limit for programs that lock topics into memory; Slipring itself locks none."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Check("locked memory", "unlimited" if soft == resource.RLIM_INFINITY else size(soft), OK)


def _clock() -> Check:
    try:
        with open(_CLOCK) as file:
            found = file.read().strip()
    except OSError:
        return Check("clock source", "not known", OK)
    if found not in _SLOW_CLOCKS:
        return Check("clock source", found, OK)
    advice = "reading it is slow, and each message needs it: boot with clocksource=tsc if the TSC is stable"
    return Check("clock source", found, WARNING, advice)


def _java() -> Check:
    if importlib.util.find_spec("pyspark") is None:
        return Check("Java", "not needed: PySpark is not installed", OK)
    try:
        from slipring.spark import java

        java.check()
    except (ImportError, OSError, slipring.SlipringError) as error:
        return Check("Java", "none that Spark can use", WARNING, str(error))
    return Check("Java", java.executable(), OK)
