# SPDX-License-Identifier: Apache-2.0
"""The class of a bus: this host's shared memory, or the transport that an address names.

A transport is named, not imported: it lies above this layer, and its packages are extras.
"""

from __future__ import annotations

import importlib
import os
from typing import TypeVar

from slipring.errors import BadArgument

_TRANSPORTS = {"zmq+tcp": ("slipring.bridge.client.bus", "RemoteBus")}
AnyBus = TypeVar("AnyBus")


def address_of(name: object, root: object) -> str:
    """Return the address in a bus's name, its root or $SLIPRING_ROOT; empty for a bus of this host."""
    for place in (name, root if root is not None else os.environ.get("SLIPRING_ROOT")):
        if isinstance(place, str) and "://" in place:
            return place
    return ""


def chosen(cls: type[AnyBus], name: object, root: object) -> type[AnyBus]:
    """Return the class for this name and root; a subclass of Bus stays as it is."""
    address = address_of(name, root)
    if not address or cls.__module__ != "slipring":
        return cls
    scheme = address.partition("://")[0]
    if scheme not in _TRANSPORTS:
        known = ", ".join(f"{known}://" for known in _TRANSPORTS)
        raise BadArgument(f"transport {scheme}:// is unknown: allowed are {known}", argument="name")
    module, found = _TRANSPORTS[scheme]
    transport: type[AnyBus] = getattr(importlib.import_module(module), found)
    return transport
