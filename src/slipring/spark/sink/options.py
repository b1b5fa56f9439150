# SPDX-License-Identifier: Apache-2.0
"""The options of the sink, checked before a row is looked at.

bus, root            the bus, as slipring.Bus has them
topic                where all rows go; without it the DataFrame needs a column "topic"
delivery, capacity   of topics that do not exist yet; one that exists must have the same
timeout              seconds to wait for room on a reliable topic before the batch fails; default: for ever
txnAppId, txnVersion batch writes: a version of that application that was published is not published again
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slipring._bus.bus import Bus
from slipring._bus.settings import check_text, timeout_s, topic_settings
from slipring._bus.transports import address_of
from slipring.errors import BadArgument

NAMES: Final = ("bus", "root", "topic", "delivery", "capacity", "timeout", "txnAppId", "txnVersion")
SPARKS_OWN: Final = ("checkpointlocation", "queryname")  # handed to us with ours


@dataclass(frozen=True)
class SinkOptions:
    bus: str
    root: str
    topic: str | None
    settings: Mapping[str, str]
    timeout: float | None
    app: str | None
    version: int

    def open(self) -> Bus:
        return Bus(self.bus, root=self.root)

    @property
    def path(self) -> str:
        """The bus directory."""
        return os.path.join(self.root, self.bus)


def parse(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """What the user wrote, or BadArgument that names the option."""
    options = {name.lower(): text for name, text in given.items() if name.lower() not in SPARKS_OWN}
    known = {name.lower(): name for name in NAMES}
    for name in options:
        if name == "path":
            raise BadArgument("path: a topic has no path; name it with option topic", argument="path")
        if name not in known:
            listed = ", ".join(NAMES)
            raise BadArgument(f"option {name!r} is not one of the sink's: {listed}", argument=name)
    app, version = _transaction(options, streaming)
    return SinkOptions(
        **_bus(options),
        topic=_topic(options),
        settings=_settings(options),
        timeout=_timeout(options.get("timeout")),
        app=app,
        version=version,
    )


def _bus(options: Mapping[str, str]) -> dict[str, str]:
    name, root = options.get("bus", "default"), options.get("root")
    if address := address_of(name, root):
        hint = "the sink publishes to topics of this host: write there, and mirror the topic by a bridge"
        raise BadArgument(f"{address} is on another host; {hint}", argument="bus")
    with Bus(name, root=root) as bus:
        return {"bus": bus.name, "root": bus.root}


def _topic(options: Mapping[str, str]) -> str | None:
    topic = options.get("topic")
    if topic is not None:
        check_text("topic", topic)
    return topic


def _settings(options: Mapping[str, str]) -> dict[str, str]:
    settings: dict[str, Any] = {name: options[name] for name in ("delivery", "capacity") if name in options}
    topic_settings(**settings)
    return settings


def _timeout(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return timeout_s(float(text))
    except ValueError:
        raise BadArgument(f"timeout={text!r} must be a number of seconds", argument="timeout") from None


def _transaction(options: Mapping[str, str], streaming: bool) -> tuple[str | None, int]:
    app, version = options.get("txnappid"), options.get("txnversion")
    if app is None and version is None:
        return None, 0
    if streaming:
        problem = "belongs to batch writes: a stream has its checkpoint"
        raise BadArgument(f"txnAppId {problem}", argument="txnAppId")
    if not app or version is None:
        raise BadArgument("txnAppId and txnVersion belong together: give both", argument="txnVersion")
    if not version.isdecimal() or int(version) >= 2**31:
        raise BadArgument(
            f"txnVersion={version!r} must be a number from 0 to 2**31 - 1", argument="txnVersion"
        )
    return app, int(version)
