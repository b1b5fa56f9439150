# SPDX-License-Identifier: Apache-2.0
"""Buses over the network: ZeroMQ between hosts (extra "zmq").

    Server       exports a bus of this host               slipring bridge serve
    RemoteBus    a client of it: slipring.Bus("zmq+tcp://host:5555/robot")
    Mirror       copies topics from one bus to another    slipring bridge mirror
    tidy         removes notes about removed topics       slipring bridge tidy
    keys         key files                                slipring bridge keys

The guide is docs/guides/bridge.md, the protocol docs/spec/bridge.md. The rooms client, server and mirror share wire
(the bytes), transfer (pieces and confirmations), error_codec, checked (content from outside), address, keys, config,
identity and origin_files.
"""

from __future__ import annotations

from . import keys
from .client.bus import RemoteBus
from .mirror.mirror import Mirror
from .origin_files import tidy
from .server.server import Server

__all__ = ["Mirror", "RemoteBus", "Server", "keys", "tidy"]
