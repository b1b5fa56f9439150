# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a lake; each message names the file and what to do about it."""

from __future__ import annotations

import errno
import os

from slipring.errors import BadArgument, Denied, SlipringError


class NotALake(SlipringError):
    """The directory is not a lake, or not one of this version."""


class NotLocal(BadArgument):
    """A path has a scheme, and only local directories can be lakes."""

    def __init__(self, path: str, scheme: str, argument: str) -> None:
        super().__init__(
            f"{argument}={path!r} has the scheme {scheme!r}: only local paths work, no object stores and no "
            f"URLs; give a directory, or ./{scheme}:/… for a local one of that name",
            argument=argument,
        )
        self.scheme = scheme


class DamagedLake(SlipringError):
    """A file of the lake is missing, or does not say what it said when it was written."""


class LakeFull(SlipringError, OSError):
    """The file system of the lake has no room."""


class LakeBusy(SlipringError):
    """Another process records into the lake, or compacts it."""


class OtherHostsRecording(SlipringError):
    """A recording that is not ended belongs to another host, or another container."""

    def __init__(self, lake: object, session: str, host: str) -> None:
        super().__init__(
            f"recording {session} in {lake} was begun on host {host}, whose topics are not to be seen here: end it "
            "there, with `slipring record --release`"
        )


class MissingExtra(SlipringError, ImportError):
    """A package is missing that this needs; the message says how to install it."""


def fault(error: OSError, path: str | os.PathLike[str]) -> SlipringError:
    """The error of the lake for a refusal of the system."""
    where = os.fspath(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LakeFull(
            f"no space left for {where}: free some, or use a lake on another disk; what was recorded is "
            "whole, and the same command goes on from there",
            argument="to",
        )
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return Denied(f"not allowed to write {where}: change its owner or mode", errno=error.errno or 0)
    return DamagedLake(f"cannot use {where}: {error.strerror or error}")
