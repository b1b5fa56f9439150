# SPDX-License-Identifier: Apache-2.0
"""Buses over the network: ZeroMQ between hosts (extra "zmq").

    Server       exports a bus of this host               slipring bridge serve
    RemoteBus    a client of it: slipring.Bus("zmq+tcp://host:5555/robot")
    Mirror       copies topics from one bus to another    slipring bridge mirror
    tidy         forgets topics that are gone             slipring bridge tidy
    keys         key files                                slipring bridge keys

docs/guides/bridge.md shows them, docs/spec/bridge.md is the protocol.
"""

from __future__ import annotations

from . import keys
from .bus import RemoteBus
from .ledger import tidy
from .mirror import Mirror
from .server import Server

__all__ = ["Mirror", "RemoteBus", "Server", "keys", "tidy"]
