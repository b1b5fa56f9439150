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

Every entry is checked when the file is read; what is missing has the default of the command line.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any

from slipring.errors import BadArgument

SERVE: dict[str, type] = {
    "bus": str,
    "root": str,
    "address": str,
    "key": str,
    "clients": str,
    "insecure": bool,
    "heartbeat_s": float,
    "linger_s": float,
    "remember_s": float,
    "max_message": str,
    "state": str,
}
MIRROR: dict[str, type] = {
    "from": str,
    "to": str,
    "root": str,
    "topics": list,
    "name": str,
    "start": str,
    "lossy": bool,
    "source_state": str,
    "target_state": str,
}


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
        raise BadArgument(f"config={os.fspath(path)!r} is no TOML: {error}", argument="config") from None
    unknown = sorted(set(found) - {"serve", "mirror"})
    if unknown:
        raise BadArgument(f"config has an unknown entry {unknown[0]!r}", argument=unknown[0])
    serve, mirrors = found.get("serve", {}), found.get("mirror", [])
    if not isinstance(serve, dict) or not isinstance(mirrors, list):
        raise BadArgument("config: [serve] is a table, [[mirror]] a list of tables", argument="config")
    return {
        "serve": _check("serve", serve, SERVE),
        "mirror": [_check("mirror", entry, MIRROR) for entry in mirrors],
    }


def _check(table: str, given: Any, known: dict[str, type]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadArgument(f"config: {table} must be a table", argument=table)
    checked = {}
    for name, value in given.items():
        kind = known.get(name)
        if kind is None:
            raise BadArgument(f"config: there is no {name!r} in {table}", argument=name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not isinstance(value, kind) and not (kind is float and is_number):
            raise BadArgument(
                f"config: {name} in {table} must be {kind.__name__}, not {value!r}", argument=name
            )
        if kind is list and not all(isinstance(item, str) for item in value):
            raise BadArgument(f"config: {name} in {table} must hold text", argument=name)
        checked[name] = value
    return checked
