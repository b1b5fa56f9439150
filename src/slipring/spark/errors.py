# SPDX-License-Identifier: Apache-2.0
"""Errors that stop a Spark job on topics: one class per cause, each with the option and the remedy."""

from __future__ import annotations

from slipring.errors import SlipringError


class BadOption(SlipringError, ValueError):
    """An option of the source or sink is not valid; `.argument` names it."""

    def __init__(self, option: str, why: str) -> None:
        super().__init__(f"option {option}: {why}", argument=option)


class DataLoss(SlipringError):
    """Messages between two offsets are lost, and option failOnDataLoss is true."""

    REMEDY = (
        "make the query faster or give the topic a larger capacity; to skip and count lost messages, set "
        "option failOnDataLoss to false"
    )

    def __init__(self, what: str, remedy: str = REMEDY) -> None:
        super().__init__(f"{what}: {remedy}", argument="failOnDataLoss")


class TopicReplaced(DataLoss):
    """The topic has another generation than the offsets: it was removed, re-created, or the host rebooted."""

    def __init__(self, topic: str, expected: int, found: int | None) -> None:
        now = "it is gone" if found is None else f"the present topic has generation {found:016x}"
        super().__init__(
            f"topic {topic!r} was removed, re-created, or its host rebooted: the query's offsets belong to "
            f"generation {expected:016x}, and {now}",
            "start again with a new checkpointLocation; or set option failOnDataLoss to false to continue "
            "with the first sequence of the present topic",
        )


class CursorMoved(DataLoss):
    """The query's cursor is ahead of its checkpoint: another reader moved it."""

    def __init__(self, topic: str, group: str, position: int, start: int) -> None:
        super().__init__(
            f"cursor {group!r} of topic {topic!r} stands at {position}, the query's checkpoint at {start}: "
            f"another query with that groupId released the messages between, or the checkpoint is an old copy",
            "give each query its own option groupId; to continue with the messages that are left, set option "
            "failOnDataLoss to false",
        )


class CursorGone(SlipringError):
    """The query's cursor was dropped or has expired while it ran."""

    def __init__(self, topic: str, group: str) -> None:
        super().__init__(
            f"cursor {group!r} of topic {topic!r} was dropped or has expired while the query ran: restart the "
            "query, which creates the cursor again at the position of its checkpoint",
            argument="groupId",
        )


class CursorInUse(SlipringError):
    """Another live query or subscriber uses this cursor."""

    def __init__(self, topic: str, group: str) -> None:
        super().__init__(
            f"option groupId: a live query or subscriber reads topic {topic!r} with cursor {group!r}: "
            "stop it, or give this query another groupId",
            argument="groupId",
        )


class OtherHost(SlipringError):
    """A process of Spark does not see the bus directory: it runs on another host, or in a container.

    This is not loss, also with failOnDataLoss=false: such a process knows nothing about the topics."""

    def __init__(self, process: str, here: str, path: str, host: str) -> None:
        super().__init__(
            f"bus directory '{path}' is in the memory of host {host}, and {process} on {here} does not have it: run "
            f"the executors on {host}; or share the directory with their containers (docker run --ipc=host for "
            f"/dev/shm); or mirror the bus to the executors' host with slipring bridge. If the directory was removed "
            f"while the query ran, restart the query",
            argument="bus",
        )


class BadValue(SlipringError):
    """A message's value does not decode by option valueFormat, and option mode is FAILFAST."""

    def __init__(self, topic: str, offset: int, why: str) -> None:
        super().__init__(
            f"the message at offset {offset} of topic {topic!r} does not decode: {why}; set option mode to "
            f"PERMISSIVE to keep such messages with NULL columns, or to DROPMALFORMED to leave them out",
            argument="mode",
        )
        self.topic, self.offset = topic, offset
