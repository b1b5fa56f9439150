# SPDX-License-Identifier: Apache-2.0
"""The configuration file of bridges, TOML:

[serve]                             # slipring bridge serve --config FILE
bus = "robot"
address = "tcp://0.0.0.0:5555"
key = "keys/server.secret"
clients = "keys/clients"

[[mirror]]                          # slipring bridge mirror --config FILE; as many as wanted
from = "robot"
to = "zmq+tcp://base:5555/base?key=keys/robot.secret&server_key=keys/server.key"
topics = ["imu", "cam*:robot1.*"]

Every entry is checked when the file is read. A missing entry has the default of the command line.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any

from slipring.errors import BadArgument

from .checked import convert
from .requirement import msgspec


class Serve(msgspec.Struct, forbid_unknown_fields=True):
    """[serve]"""

    bus: str = ""
    root: str = ""
    address: str = ""
    key: str = ""
    clients: str = ""
    insecure: bool = False
    heartbeat_s: float = 0
    linger_s: float = 0
    remember_s: float = 0
    max_message: str = ""
    state: str = ""


class Mirror(msgspec.Struct, forbid_unknown_fields=True, rename={"source": "from"}):
    """[[mirror]]"""

    source: str = ""
    to: str = ""
    root: str = ""
    topics: list[str] = msgspec.field(default_factory=list)
    name: str = ""
    start: str = ""
    lossy: bool = False
    source_state: str = ""
    target_state: str = ""


class Tables(msgspec.Struct, forbid_unknown_fields=True):
    """The file."""

    serve: dict[str, Any] = msgspec.field(default_factory=dict)
    mirror: list[dict[str, Any]] = msgspec.field(default_factory=list)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """{"serve": {...}, "mirror": [{...}, ...]}; BadArgument names the entry that is wrong."""
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise BadArgument(
            f"cannot read config={os.fspath(path)!r}: {error.strerror}", argument="config"
        ) from None
    except ValueError as error:
        raise BadArgument(
            f"config={os.fspath(path)!r} is not valid TOML: {error}", argument="config"
        ) from None
    tables = convert(found, Tables, "config")
    convert(tables.serve, Serve, "[serve] of config")
    for entry in tables.mirror:
        convert(entry, Mirror, "[[mirror]] of config")
    return {"serve": tables.serve, "mirror": tables.mirror}
