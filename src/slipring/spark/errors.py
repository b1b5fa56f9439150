# SPDX-License-Identifier: Apache-2.0
"""What stops a Spark job that reads or writes topics; one class per cause, each names the option and the
fix."""

from __future__ import annotations

from slipring.errors import SlipringError


class BadOption(SlipringError, ValueError):
    """An option of the source or sink that can never work; `.argument` names it."""

    def __init__(self, option: str, why: str) -> None:
        super().__init__(f"option {option}: {why}", argument=option)


class DataLoss(SlipringError):
    """Messages between two offsets are gone, and failOnDataLoss says that this stops the query."""

    REMEDY = (
        "let the query keep up or give the topic a larger capacity; to go on with what is left, counting "
        "what is not, set option failOnDataLoss to false"
    )

    def __init__(self, what: str, remedy: str = REMEDY) -> None:
        super().__init__(f"{what}: {remedy}", argument="failOnDataLoss")


class TopicReplaced(DataLoss):
    """The topic of the offsets is not the one that is there now: it was removed, re-created, or the host
    rebooted."""

    def __init__(self, topic: str, expected: int, found: int | None) -> None:
        now = (
            "it is gone" if found is None else f"there is another of that name now (generation {found:016x})"
        )
        super().__init__(
            f"topic {topic!r} was removed, re-created, or its host rebooted: the query's offsets belong to "
            f"generation {expected:016x}, and {now}",
            "begin anew with a fresh checkpointLocation; or set option failOnDataLoss to false, and the "
            "query goes on at the first sequence of what is there",
        )


class CursorMoved(DataLoss):
    """The query's cursor is ahead of its checkpoint: somebody else moved it."""

    def __init__(self, topic: str, group: str, position: int, start: int) -> None:
        super().__init__(
            f"cursor {group!r} of topic {topic!r} stands at {position}, the query's checkpoint at {start}: "
            f"what lies between was released by another query of that groupId, or the checkpoint is an old one",
            "give each query its own option groupId; to go on with what is still there, set option "
            "failOnDataLoss to false",
        )


class CursorGone(SlipringError):
    """The query's cursor was dropped or has expired while it ran."""

    def __init__(self, topic: str, group: str) -> None:
        super().__init__(
            f"cursor {group!r} of topic {topic!r} was dropped or has expired under the query: restart the "
            "query; it makes the cursor again at its checkpoint's place, if nothing was lost meanwhile",
            argument="groupId",
        )


class CursorInUse(SlipringError):
    """Another live query, or subscriber, reads by this cursor."""

    def __init__(self, topic: str, group: str) -> None:
        super().__init__(
            f"option groupId: a live query or subscriber reads topic {topic!r} by cursor {group!r} "
            "already: stop it, or give this query a groupId of its own",
            argument="groupId",
        )


class OtherHost(SlipringError):
    """A process of Spark's runs where the bus directory is not: on another host, or in a container of its own.

    Never loss, whatever failOnDataLoss says: nothing is known there about the topics."""

    def __init__(self, process: str, here: str, path: str, host: str) -> None:
        super().__init__(
            f"bus directory '{path}' is in the memory of host {host}, and {process} on {here} does not have it: run "
            f"the executors on {host}; give containers its directory (docker run --ipc=host for one in /dev/shm); or "
            f"mirror the bus to where the executors are with slipring bridge. If the directory was removed while the "
            f"query ran, restart the query",
            argument="bus",
        )


class BadValue(SlipringError):
    """A message's value is not what option valueFormat says, and option mode is FAILFAST."""

    def __init__(self, topic: str, offset: int, why: str) -> None:
        super().__init__(
            f"the message at offset {offset} of topic {topic!r} does not decode: {why}; to keep such "
            f"messages with NULL columns set option mode to PERMISSIVE, to leave them out DROPMALFORMED",
            argument="mode",
        )
        self.topic, self.offset = topic, offset
