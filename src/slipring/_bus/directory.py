# SPDX-License-Identifier: Apache-2.0
"""The directory a bus is: where it lies, how it is made, and who may have made it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterable

from slipring.errors import Denied, NoSpace, SlipringError, SystemFault


def default_root() -> str:
    """$SLIPRING_ROOT, or a directory of the user's own in shared memory."""
    return os.environ.get("SLIPRING_ROOT") or f"/dev/shm/slipring-{os.getuid()}"


def fault(error: OSError, path: str) -> Denied | NoSpace | SystemFault:
    """What stands in the way, with what the system knows about the place."""
    number = error.errno or 0
    text = f"cannot use the bus directory '{path}': {error.strerror}"
    if isinstance(error, PermissionError):
        hint = "change its owner or mode, or give another root="
        return Denied(f"{text} ({access(path)}): {hint}", argument="root", errno=number)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(f"{text} ({space(path)})", argument="root", errno=number)
    return SystemFault(text, argument="root", errno=number)


def access(path: str) -> str:
    """Owner, group and mode of a path, or of the nearest directory above it that can be inspected; and who asks."""
    place = path
    while True:
        try:
            status = os.stat(place)
            break
        except OSError:
            place, below = os.path.dirname(place), place
            if place == below:
                return f"as user {os.geteuid()}"
    whose = f"owner {status.st_uid}:{status.st_gid}, mode {stat.S_IMODE(status.st_mode):#05o}"
    return f"{'' if place == path else f'{place!r} has '}{whose}; this process is user {os.geteuid()}"


def space(path: str) -> str:
    """How much is left where a path lies; a directory above it, if it is not there yet."""
    while path != os.path.dirname(path):
        try:
            found = os.statvfs(path)
        except OSError:
            path = os.path.dirname(path)
        else:
            return f"{found.f_bavail * found.f_frsize} bytes and {found.f_favail} files are free in {path!r}"
    return "its free space is unknown"


def explain(error: SlipringError, path: str) -> SlipringError:
    """Add to an error of the core the place of the file that it names, its owner and mode, or the free space."""
    if isinstance(error, Denied) and error.argument != "root":  # that one is not about the mode of a file
        named = [os.path.join(path, name) for name in re.findall("'([^'/]+)'", str(error))]
        file = next(filter(os.path.lexists, named), named[0] if named else path)
        error.args = (f"{error} ('{file}': {access(file)})",)
    elif isinstance(error, NoSpace):
        error.args = (f"{error} ({space(path)})",)
    return error


def _is_unfinished(path: str) -> bool:
    """Made by us, but we died before it got its mode."""
    status = os.stat(path)
    ours = status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700
    return ours and not os.listdir(path)


def _made(root: str) -> os.stat_result:
    """The root, made if it is missing: itself, not what should lie above it."""
    try:
        status = os.stat(root)
    except FileNotFoundError:
        check_parent(root)
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(root, mode=0o700)
        status = os.stat(root)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), root)
    return status


def check_parent(root: str) -> None:
    """A root is made where its parent is. A missing parent is more often a typing error, or a disk not mounted."""
    parent = os.path.dirname(root)
    if not os.path.lexists(parent):
        hint = f"create it (mkdir -p '{parent}') or give another root="
        text = f"root='{root}' cannot be made: '{parent}' does not exist; {hint}"
        raise SystemFault(text, argument="root", errno=errno.ENOENT)


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
            raise Denied(
                f"root='{root}' may be written by everybody (mode {mode:#05o}): use another directory, or set its "
                f"sticky bit (chmod +t '{root}')",
                argument="root",
            )
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not _is_unfinished(path):
                return
        if not sticky:
            os.chmod(path, mode & 0o2777)
    except (FileExistsError, NotADirectoryError) as error:
        raise SystemFault(f"'{path}' is not a directory", argument="root", errno=error.errno or 0) from error
    except (Denied, SystemFault):
        raise
    except OSError as error:
        raise fault(error, path) from error


def check(root: str, path: str, is_default: bool) -> None:
    """What is there must be a directory, and the default root nobody else's."""
    for place in (root, path):
        try:
            status = os.stat(place)
        except FileNotFoundError:
            if place == root:
                check_parent(root)
            return
        except OSError as error:
            raise fault(error, place) from error
        if not stat.S_ISDIR(status.st_mode):
            raise SystemFault(f"'{place}' is not a directory", argument="root", errno=errno.ENOTDIR)
        if is_default and status.st_uid not in (0, os.getuid()):
            raise Denied(
                f"'{place}' belongs to another user ({access(place)}): give root=",
                argument="root", errno=errno.EACCES,
            )  # fmt: skip


def make_private(paths: Iterable[str]) -> None:
    """Directories of our own, one in the other: in a root for many, others may have been there first."""
    for path in paths:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            status = os.lstat(path)
        except OSError as error:
            raise fault(error, path) from error
        if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
            text = f"'{path}' is not a directory of this user ({access(path)}): remove it"
            raise Denied(text, argument="root")
