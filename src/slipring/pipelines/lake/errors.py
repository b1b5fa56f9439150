# SPDX-License-Identifier: Apache-2.0
"""Errors of lakes. Each message names the file, and what to do."""

from __future__ import annotations

import errno
import os

from slipring.errors import BadArgument, Denied, SlipringError


class NotALake(SlipringError):
    """The directory is not a lake, or has another version."""


class NotLocal(BadArgument):
    """A path has a scheme. Only local directories can be lakes."""

    def __init__(self, path: str, scheme: str, argument: str) -> None:
        super().__init__(
            f"{argument}={path!r} has the scheme {scheme!r}, and only local paths are supported, no object stores and "
            f"URLs: give a directory, or ./{scheme}:/… for a local one of that name",
            argument=argument,
        )
        self.scheme = scheme


class DamagedLake(SlipringError):
    """A file of the lake is missing or damaged."""


class LakeFull(SlipringError, OSError):
    """The file system of the lake is full."""


class LakeBusy(SlipringError):
    """Another process records into the lake, or compacts it."""


class OtherHostsRecording(SlipringError):
    """An unfinished recording belongs to another host or container."""

    def __init__(self, lake: object, session: str, host: str) -> None:
        super().__init__(
            f"recording {session} in {lake} was begun on host {host}, and its topics cannot be seen from here: end it "
            "there, with `slipring record --release`"
        )


def fault(error: OSError, path: str | os.PathLike[str]) -> SlipringError:
    """Return the error of a lake for an error of the operating system."""
    where = os.fspath(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LakeFull(
            f"no space left for {where}: free some, or use a lake on another disk; the recording so far is "
            "complete, and the same command resumes it",
            argument="to",
        )
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return Denied(f"not allowed to write {where}: change its owner or mode", errno=error.errno or 0)
    return DamagedLake(f"cannot use {where}: {error.strerror or error}")
