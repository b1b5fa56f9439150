# SPDX-License-Identifier: Apache-2.0
"""From the texts Spark hands over to SourceOptions: each checked by itself and against the others."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import slipring
from slipring._bus import transports
from slipring._bus.bus import Bus
from slipring._bus.ranges import COLUMNS
from slipring._bus.settings import check_cursor
from slipring.errors import SlipringError

from ..errors import BadOption
from ..option_text import Texts
from . import start_offsets as places
from .options import BATCH_ONLY, KNOWN, STREAM_ONLY, SourceOptions
from .start_offsets import Place

DEFAULT_COLUMNS = COLUMNS[:8]
MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
BATCH_BYTES = 1 << 20
MOST_OF_GROUP = 63  # characters of a cursor's name
TRIGGER_DELAY_S = 15 * 60.0  # as Kafka's source has it


def parse(given: Mapping[str, str]) -> SourceOptions:
    """Check every option by itself and against the others. What is on the bus is checked by
    `topics.check`."""
    texts = Texts(given, KNOWN)
    _check_contradictions(texts)
    bus = _bus(texts)
    value_format = texts.text("valueFormat")
    return SourceOptions(
        given=frozenset(option for option in KNOWN if option in texts),
        bus=bus.name,
        root=bus.root,
        topics=_topics(texts, bus),
        pattern=_pattern(texts),
        group=_group(texts),
        group_expires_s=texts.duration_s("groupExpires"),
        starting=_place(texts, "starting"),
        ending=_place(texts, "ending"),
        max_rows=texts.number("maxOffsetsPerTrigger"),
        max_bytes=texts.size("maxBytesPerTrigger"),
        min_rows=texts.number("minOffsetsPerTrigger"),
        max_delay_s=texts.duration_s("maxTriggerDelay") or TRIGGER_DELAY_S,
        min_partitions=texts.number("minPartitions"),
        max_records=texts.number("maxRecordsPerPartition"),
        fail_on_loss=texts.flag("failOnDataLoss", True),
        columns=_columns(texts, value_format is not None),
        gaps=texts.flag("includeGaps", False),
        batch_bytes=texts.size("batchBytes") or BATCH_BYTES,
        value_format=value_format,
        value_schema=texts.text("valueSchema"),
        value_dtype=texts.text("valueDtype"),
        mode=texts.choice("mode", MODES) or MODES[0],
    )


def _check_contradictions(texts: Texts) -> None:
    texts.not_both("subscribe", "subscribePattern", "name the topics, or a pattern of their names")
    texts.not_both("startingOffsets", "startingTimestamp", "a stream begins at one place")
    texts.not_both("endingOffsets", "endingTimestamp", "a batch ends at one place")
    if "subscribe" not in texts and "subscribePattern" not in texts:
        raise BadOption("subscribe", "it is missing: name one or more topics, or give subscribePattern")
    for ending in BATCH_ONLY:
        for option in STREAM_ONLY:
            texts.not_both(option, ending, "the one is for streams, the other for batches")
    if "maxTriggerDelay" in texts and "minOffsetsPerTrigger" not in texts:
        raise BadOption("maxTriggerDelay", "it means nothing without option minOffsetsPerTrigger")
    if "groupExpires" in texts and "groupId" not in texts:
        raise BadOption("groupExpires", "it means nothing without option groupId")
    least, most = texts.number("minOffsetsPerTrigger"), texts.number("maxOffsetsPerTrigger")
    if least and most and least > most:
        raise BadOption("minOffsetsPerTrigger", f"{least} is more than maxOffsetsPerTrigger, {most}")
    for option in ("valueSchema", "valueDtype", "mode"):
        if option in texts and "valueFormat" not in texts:
            raise BadOption(option, "it means nothing without option valueFormat")


def _bus(texts: Texts) -> Bus:
    name, root = texts.text("bus") or "default", texts.text("root")
    if address := transports.address_of(name, root):
        raise BadOption(
            "bus", f"{address} is another host's: Spark reads topics on the host they are on; run it "
            f"there, or mirror the bus to this host with slipring bridge",
        )  # fmt: skip
    try:
        return slipring.Bus(name, root=None if root is None else os.path.abspath(root))
    except SlipringError as error:
        raise BadOption("root" if error.argument == "root" else "bus", str(error)) from None


def _topics(texts: Texts, bus: Bus) -> tuple[str, ...]:
    names = texts.names("subscribe")
    for name in names:
        try:
            bus._topic(name)
        except SlipringError as error:
            raise BadOption("subscribe", str(error)) from None
    return tuple(sorted(names))


def _pattern(texts: Texts) -> str | None:
    pattern = texts.text("subscribePattern")
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise BadOption("subscribePattern", f"{pattern!r} is no regular expression: {error}") from None
    return pattern


def _group(texts: Texts) -> str | None:
    group = texts.text("groupId")
    try:
        check_cursor(group, None)
    except SlipringError as error:
        raise BadOption("groupId", str(error)) from None
    if group is not None and len(group) > MOST_OF_GROUP:
        raise BadOption(
            "groupId", f"a cursor's name has at most {MOST_OF_GROUP} characters, not {len(group)}"
        )
    return group


def _place(texts: Texts, side: str) -> Place | None:
    place = _given_place(texts, side)
    named = texts.names("subscribe")
    for topic in place.sequences if place and named else ():
        if topic not in named:
            raise BadOption(f"{side}Offsets", f"topic {topic!r} is not among those of option subscribe")
    return place


def _given_place(texts: Texts, side: str) -> Place | None:
    offsets, time = texts.text(f"{side}Offsets"), texts.text(f"{side}Timestamp")
    if time is not None:
        return places.by_time(f"{side}Timestamp", time)
    word = places.EARLIEST if side == "starting" else places.LATEST
    return None if offsets is None else places.by_offsets(f"{side}Offsets", offsets, word)


def _columns(texts: Texts, decoded: bool) -> tuple[str, ...]:
    names = texts.names("columns")
    for name in names:
        if name not in COLUMNS:
            raise BadOption("columns", f"there is no column {name}: there are {', '.join(COLUMNS)}")
    default = tuple(name for name in DEFAULT_COLUMNS if not decoded or name != "value")
    return names or default
