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
from .client.bus import RemoteBus
from .mirror.mirror import Mirror
from .origin_files import tidy
from .server.server import Server

__all__ = ["Mirror", "RemoteBus", "Server", "keys", "tidy"]
