# SPDX-License-Identifier: Apache-2.0
"""CURVE keys in files: NAME.key is public, NAME.secret holds both halves and is 0600.

A server has a directory with the public files of the clients that may connect. It is read for each handshake: adding
a file admits a client, removing it refuses the client at its next connection.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from slipring.errors import BadArgument, Denied, SystemFault

from .requirement import zmq

PUBLIC, SECRET = ".key", ".secret"
_LINE = re.compile(rb"^(public|secret) = (\S{40})$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_MOST_BYTES = 4096
_TITLE = b"# A Slipring bridge key. "


def create(directory: str | os.PathLike[str], name: str) -> tuple[Path, Path]:
    """Make a new pair, without replacing files. Return the public file and the secret file."""
    if not _NAME.fullmatch(name):
        raise BadArgument(
            f"name={name!r} is not a valid name of a key: use letters, digits, _ . and -, at most 100",
            argument="name",
        )
    folder = Path(directory)
    public, secret = zmq.curve_keypair()
    halves = b"public = " + public + b"\n", b"secret = " + secret + b"\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / f"{name}{SECRET}", 0o600, _TITLE + b"Keep this file secret.\n" + b"".join(halves))
        _write(folder / f"{name}{PUBLIC}", 0o644, _TITLE + b"This half is public.\n" + halves[0])
    except FileExistsError as error:
        raise BadArgument(
            f"{error.filename} exists and is not replaced: use another name, or remove it", argument="name"
        ) from None
    except OSError as error:
        raise SystemFault(
            f"cannot write keys: {error}", argument="directory", errno=error.errno or 0
        ) from None
    return folder / f"{name}{PUBLIC}", folder / f"{name}{SECRET}"


def _write(path: Path, mode: int, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _read(path: str | os.PathLike[str], argument: str) -> dict[bytes, bytes]:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(_MOST_BYTES)
    except OSError as error:
        raise Denied(
            f"cannot read the key {os.fspath(path)!r}: {error.strerror}",
            argument=argument,
            errno=error.errno or 0,
        ) from None
    halves = dict(_LINE.findall(content))
    if b"secret" in halves and stat.S_IMODE(mode) & 0o077:
        raise Denied(
            f"the secret key {os.fspath(path)!r} can be read by others: chmod 600", argument=argument
        )
    if b"public" not in halves:
        raise BadArgument(
            f"{os.fspath(path)!r} is not a key file: `slipring bridge keys` makes one", argument=argument
        )
    return halves


def load_public(path: str | os.PathLike[str], argument: str) -> bytes:
    return _read(path, argument)[b"public"]


def load_pair(path: str | os.PathLike[str], argument: str) -> tuple[bytes, bytes]:
    """Return the public and the secret half."""
    halves = _read(path, argument)
    if b"secret" not in halves:
        raise BadArgument(f"{os.fspath(path)!r} is a public key: give the {SECRET} file", argument=argument)
    return halves[b"public"], halves[b"secret"]


class AllowedClients:
    """The public keys in a directory, read at each handshake (pyzmq: a credentials provider)."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(os.path.expanduser(directory))
        if not self.directory.is_dir():
            raise BadArgument(f"clients='{directory}' is not a directory of public keys", argument="clients")

    def callback(self, _domain: str, key: bytes) -> bool:
        return bytes(key) in self.keys()

    def keys(self) -> set[bytes]:
        found = set()
        for path in self.directory.glob(f"*{PUBLIC}"):
            try:
                found.add(load_public(path, "clients"))
            except (Denied, BadArgument):
                continue  # one bad file does not refuse other clients
        return found
