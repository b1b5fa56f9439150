# SPDX-License-Identifier: Apache-2.0
"""Parse the option texts of Spark into SourceOptions; check each by itself and against the others."""

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

from ..decode import value_options
from ..errors import BadOption
from ..option_text import OptionTexts
from . import start_offsets
from .options import BATCH_ONLY, KNOWN, STREAM_ONLY, SourceOptions
from .start_offsets import OffsetBound

DEFAULT_COLUMNS = COLUMNS[:8]
BATCH_BYTES = 1 << 20
MOST_OF_GROUP = 63  # characters of a cursor's name
TRIGGER_DELAY_S = 15 * 60.0  # as Kafka's source has it


def parse(given: Mapping[str, str]) -> SourceOptions:
    """Check and convert all options. `shared_schema.resolve` and `open_topics.check` compare them with the topics."""
    texts = OptionTexts(given, KNOWN)
    _check_contradictions(texts)
    bus = _bus(texts)
    values, auto = value_options.parse(texts), value_options.format_of(texts) == value_options.AUTO
    return SourceOptions(
        given=frozenset(option for option in KNOWN if option in texts),
        bus=bus.name,
        root=bus.root,
        topics=_topics(texts, bus),
        pattern=_pattern(texts),
        group=_group(texts),
        group_expires_s=texts.duration_s("groupExpires"),
        starting=_bound(texts, "starting"),
        ending=_bound(texts, "ending"),
        max_rows=texts.number("maxOffsetsPerTrigger"),
        max_bytes=texts.size("maxBytesPerTrigger"),
        min_rows=texts.number("minOffsetsPerTrigger"),
        max_delay_s=texts.duration_s("maxTriggerDelay") or TRIGGER_DELAY_S,
        min_partitions=texts.number("minPartitions"),
        max_records=texts.number("maxRecordsPerPartition"),
        fail_on_loss=texts.flag("failOnDataLoss", True),
        columns=_columns(texts, values is not None, auto),
        gaps=texts.flag("includeGaps", False),
        batch_bytes=texts.size("batchBytes") or BATCH_BYTES,
        mode=value_options.mode_of(texts),
        values=values,
        auto=auto,
    )


def _check_contradictions(texts: OptionTexts) -> None:
    texts.not_both("subscribe", "subscribePattern", "give names of topics, or a pattern, but not both")
    texts.not_both("startingOffsets", "startingTimestamp", "give one of the two")
    texts.not_both("endingOffsets", "endingTimestamp", "give one of the two")
    if "subscribe" not in texts and "subscribePattern" not in texts:
        raise BadOption(
            "subscribe", "it is missing: name one or more topics, or give option subscribePattern"
        )
    for ending in BATCH_ONLY:
        for option in STREAM_ONLY:
            texts.not_both(option, ending, "one is for streams, the other for batches")
    if "maxTriggerDelay" in texts and "minOffsetsPerTrigger" not in texts:
        raise BadOption("maxTriggerDelay", "it requires option minOffsetsPerTrigger")
    if "groupExpires" in texts and "groupId" not in texts:
        raise BadOption("groupExpires", "it requires option groupId")
    least, most = texts.number("minOffsetsPerTrigger"), texts.number("maxOffsetsPerTrigger")
    if least and most and least > most:
        raise BadOption("minOffsetsPerTrigger", f"{least} is more than maxOffsetsPerTrigger={most}")


def _bus(texts: OptionTexts) -> Bus:
    name, root = texts.text("bus") or "default", texts.text("root")
    if address := transports.address_of(name, root):
        raise BadOption(
            "bus", f"{address} is on another host, and Spark reads only topics of its own host: run it there, "
            f"or mirror the bus to this host with slipring bridge",
        )  # fmt: skip
    try:
        return slipring.Bus(name, root=None if root is None else os.path.abspath(root))
    except SlipringError as error:
        raise BadOption("root" if error.argument == "root" else "bus", str(error)) from None


def _topics(texts: OptionTexts, bus: Bus) -> tuple[str, ...]:
    names = texts.names("subscribe")
    for name in names:
        try:
            bus._topic(name)
        except SlipringError as error:
            raise BadOption("subscribe", str(error)) from None
    return tuple(sorted(names))


def _pattern(texts: OptionTexts) -> str | None:
    pattern = texts.text("subscribePattern")
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise BadOption("subscribePattern", f"{pattern!r} is not a regular expression: {error}") from None
    return pattern


def _group(texts: OptionTexts) -> str | None:
    group = texts.text("groupId")
    try:
        check_cursor(group, None)
    except SlipringError as error:
        raise BadOption("groupId", str(error)) from None
    if group is not None and len(group) > MOST_OF_GROUP:
        raise BadOption(
            "groupId", f"it has {len(group)} characters; the name of a cursor has at most {MOST_OF_GROUP}"
        )
    return group


def _bound(texts: OptionTexts, side: str) -> OffsetBound | None:
    """Return the bound that the options of one side give; side: "starting" or "ending"."""
    bound = _given_bound(texts, side)
    named = texts.names("subscribe")
    for topic in bound.sequences if bound and named else ():
        if topic not in named:
            raise BadOption(f"{side}Offsets", f"topic {topic!r} is not among the topics of option subscribe")
    return bound


def _given_bound(texts: OptionTexts, side: str) -> OffsetBound | None:
    offsets, time = texts.text(f"{side}Offsets"), texts.text(f"{side}Timestamp")
    if time is not None:
        return start_offsets.by_time(f"{side}Timestamp", time)
    word = start_offsets.EARLIEST if side == "starting" else start_offsets.LATEST
    return None if offsets is None else start_offsets.by_offsets(f"{side}Offsets", offsets, word)


def _columns(texts: OptionTexts, decoded: bool, auto: bool) -> tuple[str, ...]:
    names = texts.names("columns")
    for name in names:
        if name not in COLUMNS and not auto:  # with auto it may be a field
            raise BadOption("columns", f"there is no column {name}: the columns are {', '.join(COLUMNS)}")
    default = tuple(name for name in DEFAULT_COLUMNS if not decoded or name != "value")
    return names or default
