# SPDX-License-Identifier: Apache-2.0
"""The directory of a bus: its place, its creation, and the owners and modes that are accepted."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterable

from slipring.errors import BadArgument, Denied, NoSpace, SlipringError, SystemFault


def default_root() -> str:
    """Return $SLIPRING_ROOT, or a directory of the user's own in shared memory."""
    return os.environ.get("SLIPRING_ROOT") or f"/dev/shm/slipring-{os.getuid()}"


def absolute_root(root: str | os.PathLike[str] | None) -> str:
    """Return the directory of buses that an argument root= names."""
    chosen = default_root() if root is None else os.fspath(root)
    if not isinstance(chosen, str):
        raise TypeError(f"root must be str or a path, not {type(chosen).__name__}")
    if not chosen or "\0" in chosen:
        raise BadArgument(f"root={chosen!r} must be the name of a directory", argument="root")
    return os.path.abspath(chosen)


def fault(error: OSError, path: str) -> Denied | NoSpace | SystemFault:
    """Return the exception for an error of the system, with owner and mode of the path, or the free space."""
    number = error.errno or 0
    text = f"cannot use the bus directory '{path}': {error.strerror}"
    if isinstance(error, PermissionError):
        hint = "change its owner or mode, or give another root="
        return Denied(f"{text} ({access(path)}): {hint}", argument="root", errno=number)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(f"{text} ({space(path)})", argument="root", errno=number)
    return SystemFault(text, argument="root", errno=number)


def access(path: str) -> str:
    """Describe owner, group and mode of a path, or of the nearest directory above it that exists, and our user."""
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
    """Describe the free space at a path, or at the nearest directory above it that exists."""
    while path != os.path.dirname(path):
        try:
            found = os.statvfs(path)
        except OSError:
            path = os.path.dirname(path)
        else:
            return f"{found.f_bavail * found.f_frsize} bytes and {found.f_favail} files are free in {path!r}"
    return "its free space is unknown"


def explain(error: SlipringError, path: str) -> SlipringError:
    """Add to an error of the core the path of the file that it names, its owner and mode, or the free space."""
    if isinstance(error, Denied) and error.argument != "root":  # that one is not about the mode of a file
        named = [os.path.join(path, name) for name in re.findall("'([^'/]+)'", str(error))]
        file = next(filter(os.path.lexists, named), named[0] if named else path)
        error.args = (f"{error} ('{file}': {access(file)})",)
    elif isinstance(error, NoSpace):
        error.args = (f"{error} ({space(path)})",)
    return error


def _is_unfinished(path: str) -> bool:
    """Return whether a process of ours made the directory and was killed before it got its mode."""
    status = os.stat(path)
    ours = status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700
    return ours and not os.listdir(path)


def _made(root: str) -> os.stat_result:
    """Return the status of the root; create it if it is missing, but no directory above it."""
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
    """Refuse a root without a parent: that is more often a typing error, or a disk that is not mounted."""
    parent = os.path.dirname(root)
    if not os.path.lexists(parent):
        hint = f"create it (mkdir -p '{parent}') or give another root="
        text = f"root='{root}' cannot be created: '{parent}' does not exist; {hint}"
        raise SystemFault(text, argument="root", errno=errno.ENOENT)


def listed(path: str) -> list[str]:
    """Return the names in a directory, sorted; none when there is no such directory."""
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        # defect listing_raises_os_error: raise
        raise fault(error, path) from error


def make(root: str, path: str) -> None:
    """Create the directory of a bus: private, unless its root is open to others."""
    try:
        mode = stat.S_IMODE(_made(root).st_mode)
        sticky = bool(mode & stat.S_ISVTX)
        if mode & 0o002 and not sticky:
            raise Denied(
                f"root='{root}' may be written by every user (mode {mode:#05o}): use another directory, or set its "
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
    """Check that root and path are directories, and the default root is not another user's."""
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
    """Create private directories, each inside the one before. In a shared root, another user may have been first."""
    for path in paths:
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            status = os.lstat(path)
        except OSError as error:
            raise fault(error, path) from error
        if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
            text = f"'{path}' is not a directory of this user ({access(path)}): remove it"
            raise Denied(text, argument="root")
