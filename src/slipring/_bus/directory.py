# SPDX-License-Identifier: Apache-2.0
"""The directory a bus is: where it lies, how it is made, and who may have made it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable

from slipring.errors import Denied, NoSpace, SystemFault


def default_root() -> str:
    """$SLIPRING_ROOT, or a directory of the user's own in shared memory."""
    return os.environ.get("SLIPRING_ROOT") or f"/dev/shm/slipring-{os.getuid()}"


def fault(error: OSError, path: str) -> Denied | NoSpace | SystemFault:
    number = error.errno or 0
    cls: type[Denied | NoSpace | SystemFault]
    cls = Denied if isinstance(error, PermissionError) else NoSpace if number == errno.ENOSPC else SystemFault
    return cls(f"cannot use the bus directory '{path}': {error.strerror}", argument="root", errno=number)


def _is_unfinished(path: str) -> bool:
    """Made by us, but we died before it got its mode."""
    status = os.stat(path)
    ours = status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700
    return ours and not os.listdir(path)


def _made(root: str) -> os.stat_result:
    """Asked first: makedirs takes a directory that cannot be inspected now for something else."""
    try:
        status = os.stat(root)
    except FileNotFoundError:
        os.makedirs(root, mode=0o700, exist_ok=True)
        status = os.stat(root)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), root)
    return status


def listed(path: str) -> list[str]:
    """What is in a directory, in order; nothing if it is not there."""
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        # defect listing_raises_os_error: raise
        raise fault(error, path) from error


def make(root: str, path: str) -> None:
    """The bus's directory: private, unless somebody made its root for others too."""
    try:
        mode = stat.S_IMODE(_made(root).st_mode)
        sticky = bool(mode & stat.S_ISVTX)
        if mode & 0o002 and not sticky:
            raise Denied(f"root='{root}' may be written by everybody: use another directory", argument="root")
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not _is_unfinished(path):
                return
        if not sticky:
            os.chmod(path, mode & 0o2777)
    except (FileExistsError, NotADirectoryError) as error:
        raise SystemFault(f"'{path}' is not a directory", argument="root", errno=error.errno or 0) from error
    except Denied:
        raise
    except OSError as error:
        raise fault(error, path) from error


def check(root: str, path: str, is_default: bool) -> None:
    """What is there must be a directory, and the default root nobody else's."""
    for place in (root, path):
        try:
            status = os.stat(place)
        except FileNotFoundError:
            return
        except OSError as error:
            raise fault(error, place) from error
        if not stat.S_ISDIR(status.st_mode):
            raise SystemFault(f"'{place}' is not a directory", argument="root", errno=errno.ENOTDIR)
        if is_default and status.st_uid not in (0, os.getuid()):
            raise Denied(
                f"'{place}' belongs to another user: give root=", argument="root", errno=errno.EACCES
            )


def make_private(paths: Iterable[str]) -> None:
    """Directories of our own, one in the other: in a root for many, others may have been there first."""
    for path in paths:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            status = os.lstat(path)
        except OSError as error:
            raise fault(error, path) from error
        if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
            raise Denied(f"'{path}' is not a directory of this user: remove it", argument="root")
