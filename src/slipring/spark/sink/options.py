# SPDX-License-Identifier: Apache-2.0
"""The options of the sink, checked before any row is read.

bus, root            the bus, as for slipring.Bus
topic                the topic of all rows; without it the DataFrame needs a column "topic"
delivery, capacity   for topics that do not exist yet; an existing topic must have the same
valueFormat          auto: rows are encoded by the schema of a typed topic; raw: column "value" has the bodies
timeout              seconds to wait for room on a reliable topic before the batch fails; default: no limit
txnAppId, txnVersion batch writes: a published version of that application is not published again
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

NAMES: Final = (
    "bus",
    "root",
    "topic",
    "delivery",
    "capacity",
    "valueFormat",
    "timeout",
    "txnAppId",
    "txnVersion",
)
SPARKS_OWN: Final = ("checkpointlocation", "queryname")  # passed by Spark among the others


@dataclass(frozen=True)
class SinkOptions:
    bus: str
    root: str
    topic: str | None
    settings: Mapping[str, str]
    raw: bool
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
    """Check and convert the options; BadArgument names a wrong one."""
    options = {name.lower(): text for name, text in given.items() if name.lower() not in SPARKS_OWN}
    known = {name.lower(): name for name in NAMES}
    for name in options:
        if name == "path":
            raise BadArgument("option path: a topic has no path; name it with option topic", argument="path")
        if name not in known:
            listed = ", ".join(NAMES)
            raise BadArgument(f"the sink has no option {name!r}; its options are {listed}", argument=name)
    app, version = _transaction(options, streaming)
    return SinkOptions(
        **_bus(options),
        topic=_topic(options),
        settings=_settings(options),
        raw=_is_raw(options.get("valueformat", "auto")),
        timeout=_timeout(options.get("timeout")),
        app=app,
        version=version,
    )


def _bus(options: Mapping[str, str]) -> dict[str, str]:
    name, root = options.get("bus", "default"), options.get("root")
    if address := address_of(name, root):
        hint = "write to a bus of this host, and mirror it with slipring bridge"
        raise BadArgument(
            f"{address} is on another host, and the sink publishes only to topics of its own host: {hint}",
            argument="bus",
        )
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


def _is_raw(text: str) -> bool:
    if text.strip().lower() not in ("auto", "raw"):
        raise BadArgument(
            f"valueFormat={text!r} must be auto, to encode rows by the schema of a typed topic, or raw, to publish the "
            f"bytes of column 'value'",
            argument="valueFormat",
        )
    return text.strip().lower() == "raw"


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
        raise BadArgument("txnAppId is for batch writes; a stream has its checkpoint", argument="txnAppId")
    if not app or version is None:
        raise BadArgument("txnAppId and txnVersion require each other: give both", argument="txnVersion")
    if not version.isdecimal() or int(version) >= 2**31:
        raise BadArgument(
            f"txnVersion={version!r} must be a number from 0 to 2**31 - 1", argument="txnVersion"
        )
    return app, int(version)
